// Operations on single elements whose type is given: the optimizer's step, conversions, initial values.
#include <gtest/gtest.h>

#include <vector>

#include "engine/core/rng.h"
#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/expect_within.h"

namespace perfbench::engine {
namespace {

using oracle::expect_within;
using oracle::gamma;
using oracle::kUnitF32;
using oracle::Operand;
using oracle::random_operand;
using oracle::Values;

class Adamw : public OpsTest {};

TEST_F(Adamw, EqualsTheOracleOverSteps) {
  const Shape shape{1003};
  Operand weight = random_operand(DType::f32, shape, 1);
  const Operand first(DType::f32, shape, Values(1003, 0.0));
  const Operand second(DType::f32, shape, Values(1003, 0.0));
  Values w = weight.values(), m(1003), v(1003);
  constexpr double kRate = 1e-2, kBeta1 = 0.9, kBeta2 = 0.95, kEps8 = 1e-8, kDecay = 0.1, kScale = 0.5;
  for (int step = 1; step <= 5; ++step) {
    const auto gradient = random_operand(DType::f32, shape, static_cast<unsigned>(10 + step));
    const double c1 = 1.0 - std::pow(kBeta1, step), c2 = 1.0 - std::pow(kBeta2, step);
    const AdamwTensor tensor{
        .weight = weight, .gradient = gradient, .first_moment = first, .second_moment = second, .weight_decay = kDecay};
    ops_->adamw({.tensors = {&tensor, 1},
                 .factors = Operand(DType::f64, Shape{kAdamwFactors}, {kRate, c1, c2, kScale}),
                 .beta1 = kBeta1,
                 .beta2 = kBeta2,
                 .eps = kEps8});
    const auto g = gradient.values();
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double scaled = g[i] * kScale;
      m[i] = kBeta1 * m[i] + (1.0 - kBeta1) * scaled;
      v[i] = kBeta2 * v[i] + (1.0 - kBeta2) * scaled * scaled;
      w[i] -= kRate * (m[i] / c1 / (std::sqrt(v[i] / c2) + kEps8) + kDecay * w[i]);
    }
    // Each step adds four roundings to a moment whose terms are at most 4 in size, and ten to an update of size
    // kRate |m|/sqrt(v), which is below 4 kRate; cancellation in m counts with its terms.
    const double steps = step;
    expect_within(
        first, m, [&](std::size_t) { return gamma(4 * steps) * 4.0; }, "first moment");
    expect_within(
        second, v, [&](std::size_t i) { return gamma(4 * steps + 4) * v[i]; }, "second moment");
    expect_within(
        weight, w,
        [&](std::size_t i) {
          const double root = std::sqrt(v[i] / c2) + kEps8;
          return steps * (gamma(4 * steps + 10) * kRate * (4.0 / c1 / root + 4.0) + kUnitF32 * (std::abs(w[i]) + 1.0));
        },
        "weight");
  }
}

// Pieces of an optimizer's state: some empty of whole vectors, some that start between vectors, and more than one
// launch takes.
struct StateOfPieces {
  explicit StateOfPieces(unsigned seed)
      : weight(random_operand(DType::f32, Shape{kElements}, seed)),
        gradient(random_operand(DType::f32, Shape{kElements}, seed + 1)),
        first(random_operand(DType::f32, Shape{kElements}, seed + 2)),
        second(DType::f32, Shape{kElements}, squares(random_operand(DType::f32, Shape{kElements}, seed + 3).values())) {
    std::int64_t at = 0;
    for (int i = 0; i < kPieces; ++i) {
      const std::int64_t count = i == 3 ? kLong : 1 + i % 9;
      const Shape shape{count};
      const auto part = [&](const Operand& o) { return o.view().slice(at, shape); };
      tensors.push_back({part(weight), part(gradient), part(first), part(second), i % 2 == 0 ? 0.1 : 0.0});
      gradients.push_back(part(gradient));
      at += count;
    }
  }
  static Values squares(Values values) {
    for (auto& v : values) v *= v;
    return values;
  }
  std::vector<std::vector<unsigned char>> bytes() const { return {weight.bytes(), first.bytes(), second.bytes()}; }

  static constexpr int kPieces = 600;
  static constexpr std::int64_t kLong = 70001;
  static constexpr std::int64_t kElements = 9 * kPieces + kLong;
  Operand weight, gradient, first, second;
  std::vector<AdamwTensor> tensors;
  std::vector<TensorView> gradients;
};

TEST_F(Adamw, OfManyTensorsIsThatOfEachAlone) {
  const Operand factors(DType::f64, Shape{kAdamwFactors}, {1e-2, 0.1, 0.05, 0.5});
  const StateOfPieces together(1);
  const StateOfPieces apart(1);
  const auto before = together.bytes();
  ops_->adamw({.tensors = together.tensors, .factors = factors});
  for (const auto& tensor : apart.tensors) ops_->adamw({.tensors = {&tensor, 1}, .factors = factors});
  EXPECT_NE(together.bytes(), before);
  EXPECT_TRUE(together.bytes() == apart.bytes());
}

class SumOfSquares : public OpsTest {};

TEST_F(SumOfSquares, OfManyTensorsIsThatOfOneAfterTheOther) {
  const StateOfPieces state(1);
  const Operand together(DType::f64, Shape{1}, {3.0}), apart(DType::f64, Shape{1}, {5.0});
  ops_->sum_of_squares(together, state.gradients, Write::overwrite);
  auto write = Write::overwrite;
  for (const auto& gradient : state.gradients) {
    ops_->sum_of_squares(apart, {&gradient, 1}, write);
    write = Write::accumulate;
  }
  EXPECT_EQ(together.values(), apart.values());
  // The pieces lie one behind the other; what is behind the last is not theirs.
  double want = 0.0;
  std::int64_t left = 0;
  for (const auto& gradient : state.gradients) left += gradient.elements();
  for (const double g : state.gradient.values()) want += left-- > 0 ? g * g : 0.0;
  EXPECT_NEAR(together.values()[0], want, 1e-9 * want);
  ops_->sum_of_squares(together, state.gradients, Write::accumulate);
  EXPECT_NEAR(together.values()[0], 2.0 * want, 1e-9 * want);
}

class ClipScale : public OpsTest {};

TEST_F(ClipScale, BringsTheNormDownAndNeverUp) {
  const Operand scale(DType::f64, Shape{1});
  const auto scaled = [&](double square_sum, double clip_norm) {
    ops_->clip_scale(scale, Operand(DType::f64, Shape{1}, {square_sum}), clip_norm);
    return scale.values()[0];
  };
  EXPECT_DOUBLE_EQ(scaled(16.0, 1.0), 1.0 / (4.0 + 1e-6));
  EXPECT_EQ(scaled(0.25, 1.0), 1.0);
  EXPECT_EQ(scaled(0.0, 1.0), 1.0);
  EXPECT_EQ(scaled(16.0, 0.0), 1.0);  // not clipped
}

class Copy : public OpsTest {};

TEST_F(Copy, RoundsToBf16AsTheDefinitionSays) {
  // Ties to even both ways, carries into the exponent, denormals, the largest values, infinities.
  Values values{1.0,
                1.00390625,
                1.01171875,
                -1.00390625,
                1.0 + 0x1p-8 + 0x1p-23,
                0x1.FFp0,
                0x1.FFFFFEp0,
                0x1p-140,
                0x1.8p-134,
                0x1p-149,
                -0.0,
                0x1.FEp127,
                INFINITY,
                -INFINITY,
                0x1.FFp127,
                3.14159274101257324,
                1e-30,
                -7.25};
  std::mt19937 generator(1);
  while (values.size() < 1003) {
    const auto bits = static_cast<std::uint32_t>(generator());
    const auto f = std::bit_cast<float>(bits);
    if (std::isfinite(f)) values.push_back(static_cast<double>(f));
  }
  const Shape shape{static_cast<std::int64_t>(values.size())};
  const Operand from(DType::f32, shape, values);
  const Operand to(DType::bf16, shape);
  const Operand back(DType::f32, shape);
  ops_->copy(to, from);
  ops_->copy(back, to);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isinf(values[i])) {
      EXPECT_EQ(to.values()[i], values[i]);
      continue;
    }
    EXPECT_EQ(to.values()[i], oracle::rounded_to(DType::bf16, values[i])) << values[i];
    EXPECT_EQ(back.values()[i], to.values()[i]);
  }
}

TEST_F(Copy, KeepsNansNans) {
  const Operand from(DType::f32, Shape{20});
  const Operand to(DType::bf16, Shape{20});
  for (std::uint32_t i = 0; i < 20; ++i) from.view().as<std::uint32_t>()[i] = 0x7F800001U + (i % 2 << 31) + i;
  ops_->copy(to, from);
  for (const double v : to.values()) EXPECT_TRUE(std::isnan(v));
}

class FillNormal : public OpsTest {};

TEST_F(FillNormal, EqualsTheStreamWithinOneUnitOfF32AndDependsOnTheIndexAlone) {
  constexpr std::int64_t kCount = 200003;
  const Operand all(DType::f32, Shape{kCount});
  ops_->fill_normal({.out = all, .seed = 7, .stream = "layers.3.w_up", .first_index = 5, .mean = 0.25, .std = 0.02});
  wait_for_ops();
  const RngStream stream(7, "layers.3.w_up");
  int different = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const float want = static_cast<float>(0.25 + 0.02 * stream.normal(static_cast<std::uint64_t>(5 + i)));
    const float got = all.view().as<float>()[i];
    if (got == want) continue;
    ++different;
    ASSERT_TRUE(got == std::nextafter(want, 1e9F) || got == std::nextafter(want, -1e9F)) << i;
  }
  EXPECT_LE(different, 1);  // a double within 4 units of f64 rounds apart with probability 2^-27 an element
  const Operand part(DType::f32, Shape{1001});
  ops_->fill_normal(
      {.out = part, .seed = 7, .stream = "layers.3.w_up", .first_index = 5 + 333, .mean = 0.25, .std = 0.02});
  wait_for_ops();
  for (std::int64_t i = 0; i < 1001; ++i) {
    ASSERT_EQ(part.view().as<float>()[i], all.view().as<float>()[333 + i]) << i;
  }
}

}  // namespace
}  // namespace perfbench::engine
