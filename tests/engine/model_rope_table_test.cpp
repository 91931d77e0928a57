#include <gtest/gtest.h>

#include <cmath>

#include "engine/model/rope_table.h"

namespace perfbench::engine {
namespace {

// The angle of a pair at position 1, from its cosine and sine.
double angle(const std::vector<float>& table, std::int64_t head_dim, std::int64_t pair) {
  const auto cosine = table[static_cast<std::size_t>(head_dim + pair)];
  const auto sine = table[static_cast<std::size_t>(head_dim + head_dim / 2 + pair)];
  return std::atan2(sine, cosine);
}

TEST(RopeTable, FrequenciesFallGeometricallyFromOne) {
  const auto table = rope_table({.rope_theta = 10000.0}, 2, 64);
  // Cosine and sine are f32: one rounding of 2^-24 relative to 1.
  EXPECT_NEAR(angle(table, 64, 0), 1.0, 1e-7);
  EXPECT_NEAR(angle(table, 64, 16), 0.01, 1e-7);
  EXPECT_NEAR(angle(table, 64, 8), 0.1, 1e-7);
}

// The published Llama 3.1 settings (theta 500000, factor 8, 1, 4, 8192): wavelengths below 2048 tokens stay, those
// above 8192 are stretched eightfold.
TEST(RopeTable, Llama3ScalingKeepsShortWavesAndStretchesLongOnes) {
  const spec::PositionSpec plain{.rope_theta = 500000.0};
  spec::PositionSpec scaled = plain;
  scaled.rope_scaling = spec::RopeScaling::llama3;
  const auto before = rope_table(plain, 2, 128);
  const auto after = rope_table(scaled, 2, 128);
  int kept = 0;
  int stretched = 0;
  int between = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    const double wave = 2 * M_PI * std::pow(500000.0, 2.0 * static_cast<double>(i) / 128.0);
    const double ratio = angle(after, 128, i) / angle(before, 128, i);
    if (wave < 2048) {
      EXPECT_NEAR(ratio, 1.0, 1e-4);
      ++kept;
    } else if (wave > 8192) {
      EXPECT_NEAR(ratio, 1.0 / 8, 1e-2);
      ++stretched;
    } else {
      EXPECT_GT(ratio, 1.0 / 8);
      EXPECT_LT(ratio, 1.0);
      ++between;
    }
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(stretched, 0);
  EXPECT_GT(between, 0);
}

}  // namespace
}  // namespace perfbench::engine
