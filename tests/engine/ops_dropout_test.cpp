// Dropout: which elements it drops, and the values of the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/dropout.h"
#include "tests/engine/oracle/expect_within.h"

namespace perfbench::engine {
namespace {

using oracle::DropoutOracle;
using oracle::expect_within;
using oracle::gamma;
using oracle::Operand;
using oracle::random_operand;
using oracle::Values;

struct DropoutKey {
  std::string stream = "dropout of input";
  std::int32_t step = 5;
  std::int64_t first_row = 0;
  double rate = 0.1;
};

class DropoutOp : public OpsTest {
 protected:
  void drop(TensorView out, TensorView x, const DropoutKey& key) {
    const Operand step(DType::i32, Shape{1}, {static_cast<double>(key.step)});
    ops_->dropout({.out_RM = out,
                   .x_RM = x,
                   .step = step,
                   .seed = 7,
                   .stream = key.stream,
                   .first_row = key.first_row,
                   .rate = key.rate});
    wait_for_ops();
  }
  // For rows of ones: whether each element stayed.
  std::vector<bool> kept(Shape shape, const DropoutKey& key) {
    const Operand x(DType::f32, shape, Values(static_cast<std::size_t>(shape.elements()), 1.0));
    drop(x, x, key);
    std::vector<bool> out;
    for (const double v : x.values()) out.push_back(v != 0.0);
    return out;
  }
};

// For elements that stay, 1/(1 - rate) is rounded once to f32, and the product once more.
TEST_F(DropoutOp, EqualsTheOracleInEveryShapeAndType) {
  for (const auto dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t width : {1, 2, 7, 16, 33, 64, 520, 2049}) {
      for (const double rate : {0.0, 0.1, 0.5, 0.999}) {
        const DropoutKey key{.stream = "w", .step = 3, .first_row = 1'000'003, .rate = rate};
        const DropoutOracle draws{.seed = 7, .stream = "w", .step = 3, .rate = rate};
        const Shape shape{9, width};
        const auto x = random_operand(dtype, shape, static_cast<unsigned>(width));
        const Operand out(dtype, shape);
        drop(out, x, key);
        auto want = x.values();
        const auto got = out.values();
        for (std::size_t i = 0; i < want.size(); ++i) {
          const std::uint64_t row = i / static_cast<std::uint64_t>(width);
          const bool stays =
              draws.keeps(1'000'003 + row, i % static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(width));
          want[i] = stays ? want[i] / (1.0 - rate) : 0.0;
          if (!stays) {
            EXPECT_EQ(got[i], 0.0) << i;
          }
        }
        expect_within(
            out, want, [&](std::size_t i) { return gamma(1) * std::abs(want[i]); },
            std::string(dtype_name(dtype)) + " rows of " + std::to_string(width));
        drop(x, x, key);
        EXPECT_EQ(x.bytes(), out.bytes()) << "in place";
      }
    }
  }
}

// Any part of the rows, as ranks and microbatches have them, at any place in memory, aligned to vectors or not.
TEST_F(DropoutOp, DropsTheSameElementsInAPartOfTheRows) {
  for (const std::int64_t width : {6, 7, 64}) {
    const auto all = kept(Shape{40, width}, {});
    for (const std::int64_t first : {1, 13, 39}) {
      const std::int64_t rows = std::min<std::int64_t>(40 - first, 5);
      const auto part = kept(Shape{rows, width}, {.first_row = first});
      EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + first * width)) << width << " from " << first;
    }
    const Operand memory(DType::bf16, Shape{1 + 40 * width}, Values(static_cast<std::size_t>(1 + 40 * width), 1.0));
    const TensorView behind = memory.view().slice(1, Shape{40, width});
    drop(behind, behind, {});
    const auto values = memory.values();
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(values[i + 1] != 0.0, all[i]) << i;
  }
}

// Among n elements the number that stays is binomial with probability p = 1 - rate: standard deviation sqrt(n p (1 -
// p)). Pairs of elements with independent draws both stay with probability p^2. Elements that stay are divided by p, so
// the mean of ones deviates from 1 by some deviations of sqrt(p (1 - p) / n) / p, and by the rounding of a factor.
TEST_F(DropoutOp, KeepsItsShareAndTheMeanWithoutAPattern) {
  constexpr std::int64_t kRows = 256, kWidth = 256, kCount = kRows * kWidth;
  constexpr double kSigmas = 5.0;
  for (const double rate : {0.01, 0.1, 0.5, 0.9}) {
    const double p = 1.0 - rate;
    const auto one = kept(Shape{kRows, kWidth}, {.rate = rate});
    const auto both = [&](const std::vector<bool>& other, std::size_t distance) {
      double out = 0;
      for (std::size_t i = distance; i < one.size(); ++i) out += one[i - distance] && other[i] ? 1.0 : 0.0;
      return out;
    };
    const auto expect_binomial = [&](double count, double n, double probability, const char* what) {
      EXPECT_NEAR(count, n * probability, kSigmas * std::sqrt(n * probability * (1.0 - probability)))
          << what << " at rate " << rate;
    };
    expect_binomial(both(one, 0), kCount, p, "elements");
    expect_binomial(both(one, 1), kCount - 1, p * p, "neighbours");
    expect_binomial(both(one, kWidth), kCount - kWidth, p * p, "rows");
    const auto of_next_step = kept(Shape{kRows, kWidth}, {.step = 6, .rate = rate});
    const auto of_other_place = kept(Shape{kRows, kWidth}, {.stream = "dropout of layers.0.attention", .rate = rate});
    expect_binomial(both(of_next_step, 0), kCount, p * p, "steps");
    expect_binomial(both(of_other_place, 0), kCount, p * p, "places");

    const Operand x(DType::f32, Shape{kRows, kWidth}, Values(kCount, 1.0));
    drop(x, x, {.rate = rate});
    double mean = 0;
    for (const double v : x.values()) mean += v / kCount;
    EXPECT_NEAR(mean, 1.0, kSigmas * std::sqrt(p * (1.0 - p) / kCount) / p + oracle::kUnitF32);
  }
}

TEST_F(DropoutOp, DroppedElementsAreZeroWhateverTheyWere) {
  const Shape shape{2, 64};
  const auto stays = kept(shape, {.rate = 0.5});
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const Operand x(DType::f32, shape, Values(128, bad));
    drop(x, x, {.rate = 0.5});
    const auto values = x.values();
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i] == 0.0, !stays[i]) << i << ": " << values[i];
  }
}

TEST_F(DropoutOp, RefusesInvalidRates) {
  const Operand x(DType::f32, Shape{2, 4});
  for (const double rate : {-0.1, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(drop(x, x, {.rate = rate}), LogicFault) << rate;
  }
}

}  // namespace
}  // namespace perfbench::engine
