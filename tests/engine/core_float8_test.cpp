// Rounding to 8 bits compared with the formats' definition: a table of every number of a format, made by exact
// arithmetic in f64, and a search in it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "engine/core/float8.h"

namespace perfbench::engine {
namespace {

// OFP8 1.0, table 1: a number is (-1)^s 2^(e - bias) (1 + m / 2^M), or with e = 0 (-1)^s 2^(1 - bias) m / 2^M.
struct Definition {
  const char* name;
  const Float8Format& format;
  int mantissa_bits;
  int bias;
  int largest_exponent;  // e of the largest number
  int largest_mantissa;  // m of the largest number
  bool has_infinity;
};
const Definition kDefinitions[] = {{"e4m3", kE4m3, 3, 7, 15, 6, false}, {"e5m2", kE5m2, 2, 15, 30, 3, true}};

// The magnitudes of all positive codes, in order.
std::vector<double> magnitudes(const Definition& d) {
  std::vector<double> all;
  for (int e = 0; e <= d.largest_exponent; ++e) {
    for (int m = 0; m < (1 << d.mantissa_bits); ++m) {
      if (e == d.largest_exponent && m > d.largest_mantissa) break;
      const double fraction = std::ldexp(m, -d.mantissa_bits);
      all.push_back(e == 0 ? std::ldexp(fraction, 1 - d.bias) : std::ldexp(1.0 + fraction, e - d.bias));
    }
  }
  return all;
}

// The nearest of them; of two equally near ones the one with an even code. Values beyond the last one give the last
// one.
int nearest(const std::vector<double>& all, double magnitude) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const double gain = std::abs(magnitude - all[best]) - std::abs(magnitude - all[i]);
    if (gain > 0 || (gain == 0 && i % 2 == 0)) best = i;
  }
  return static_cast<int>(best);
}

int code(const Definition& d, float x) {
  return float8_code(d.format, std::bit_cast<std::uint32_t>(x));
}

void expect_rounded(const Definition& d, const std::vector<double>& all, float magnitude) {
  const int want = nearest(all, static_cast<double>(magnitude));
  EXPECT_EQ(code(d, magnitude), want) << d.name << ' ' << magnitude;
  EXPECT_EQ(code(d, -magnitude), want | 0x80) << d.name << " -" << magnitude;
}

TEST(Float8, CodesHaveTheNumbersOfTheDefinition) {
  EXPECT_EQ(magnitudes(kDefinitions[0]).back(), 448.0);
  EXPECT_EQ(magnitudes(kDefinitions[1]).back(), 57344.0);
  EXPECT_EQ(magnitudes(kDefinitions[0])[1], 0x1p-9);
  EXPECT_EQ(magnitudes(kDefinitions[1])[1], 0x1p-16);
  for (const auto& d : kDefinitions) {
    const auto all = magnitudes(d);
    EXPECT_EQ(d.format.largest, static_cast<float>(all.back()));
    for (int c = 0; c < 128; ++c) {
      const float positive = float8_value(d.format, static_cast<std::uint8_t>(c));
      const float negative = float8_value(d.format, static_cast<std::uint8_t>(c | 0x80));
      if (static_cast<std::size_t>(c) < all.size()) {
        EXPECT_EQ(static_cast<double>(positive), all[static_cast<std::size_t>(c)]) << d.name << ' ' << c;
        EXPECT_EQ(negative, -positive) << d.name << ' ' << c;
        EXPECT_TRUE(std::signbit(negative)) << d.name << ' ' << c;
      } else if (d.has_infinity && static_cast<std::size_t>(c) == all.size()) {
        EXPECT_EQ(positive, std::numeric_limits<float>::infinity());
        EXPECT_EQ(negative, -std::numeric_limits<float>::infinity());
      } else {
        EXPECT_TRUE(std::isnan(positive) && std::isnan(negative)) << d.name << ' ' << c;
      }
    }
  }
}

// Checks both numbers of each pair of neighbours, the value in the middle, and the f32 beside each of these.
TEST(Float8, RoundsToTheNearestAndTiesToTheEvenCode) {
  for (const auto& d : kDefinitions) {
    const auto all = magnitudes(d);
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      const auto low = static_cast<float>(all[i]);
      const auto high = static_cast<float>(all[i + 1]);
      const float middle = (low + high) / 2;  // exact: two bits more
      for (const float x : {low, middle, high}) {
        expect_rounded(d, all, x);
        expect_rounded(d, all, std::nextafter(x, 0.0F));
        expect_rounded(d, all, std::nextafter(x, std::numeric_limits<float>::max()));
      }
      EXPECT_EQ(code(d, middle), static_cast<int>(i + i % 2)) << d.name << ' ' << middle;
    }
  }
}

TEST(Float8, SaturatesAtTheLargestNumber) {
  for (const auto& d : kDefinitions) {
    const auto all = magnitudes(d);
    const auto last = static_cast<int>(all.size()) - 1;
    const float largest = d.format.largest;
    for (const float x : {largest, std::nextafter(largest, 1e30F), 1.03F * largest, 1.07F * largest, 2 * largest, 1e30F,
                          std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
      EXPECT_EQ(code(d, x), last) << d.name << ' ' << x;
      EXPECT_EQ(code(d, -x), last | 0x80) << d.name << ' ' << x;
    }
  }
}

TEST(Float8, KeepsZerosTheirSignAndNaN) {
  for (const auto& d : kDefinitions) {
    EXPECT_EQ(code(d, 0.0F), 0);
    EXPECT_EQ(code(d, -0.0F), 0x80);
    for (const float tiny : {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::min(), 1e-30F}) {
      EXPECT_EQ(code(d, tiny), 0) << tiny;
      EXPECT_EQ(code(d, -tiny), 0x80) << tiny;
    }
    for (const std::uint32_t nan : {0x7FC00000U, 0x7F800001U, 0x7FFFFFFFU, 0xFFC00000U}) {
      const auto c = float8_code(d.format, nan);
      EXPECT_TRUE(std::isnan(float8_value(d.format, c))) << d.name << std::hex << nan;
      EXPECT_EQ(c >> 7, nan >> 31);
    }
  }
}

TEST(Float8, RoundsAnyF32AsTheDefinition) {
  std::mt19937 bits(7);
  for (const auto& d : kDefinitions) {
    const auto all = magnitudes(d);
    for (int i = 0; i < 20'000; ++i) {
      // Exponents from below half of the smallest number to above the largest one.
      const auto exponent =
          static_cast<std::uint32_t>(127 - d.bias - d.mantissa_bits - 2 + static_cast<int>(bits() % 40));
      const float x = std::bit_cast<float>(exponent << 23 | static_cast<std::uint32_t>(bits() & 0x7FFFFF));
      expect_rounded(d, all, x);
    }
  }
}

TEST(Float8, ScalesBringAnAmaxToTheLargestNumber) {
  EXPECT_EQ(float8_scale(kE4m3, 7.0F), 64.0F);
  EXPECT_EQ(float8_scale(kE5m2, 0.5F), 114688.0F);
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_EQ(float8_scale(kE4m3, 1e-44F), kMost);
  for (const float unknown : {0.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(float8_scale(kE4m3, unknown), 1.0F) << unknown;
  }
}

}  // namespace
}  // namespace perfbench::engine
