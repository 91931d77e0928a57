// Operations on single elements of a given type: the optimizer's step, conversions, initial values.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
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
    // Each step adds four roundings to a moment whose terms are at most 4 in size, and ten to an update of size kRate
    // |m|/sqrt(v), which is below 4 kRate; cancellation in m counts with the magnitude of its terms.
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

// Pieces of an optimizer's state: some have no whole vector, some start between vectors, and there are more than one
// launch takes.
struct StateOfPieces {
  explicit StateOfPieces(unsigned seed, DType moments = DType::f32, DType of_gradient = DType::f32)
      : weight(random_operand(DType::f32, Shape{kElements}, seed)),
        gradient(random_operand(of_gradient, Shape{kElements}, seed + 1)),
        first(random_operand(moments, Shape{kElements}, seed + 2)),
        second(moments, Shape{kElements}, squares(random_operand(DType::f32, Shape{kElements}, seed + 3).values())) {
    std::int64_t at = 0;
    for (int i = 0; i < kPieces; ++i) {
      const std::int64_t count = i == 3 ? kLong : 1 + i % 9;
      const Shape shape{count};
      const auto part = [&](const Operand& o) { return o.view().slice(at, shape); };
      tensors.push_back({.weight = part(weight),
                         .gradient = part(gradient),
                         .first_moment = part(first),
                         .second_moment = part(second),
                         .weight_decay = i % 2 == 0 ? 0.1 : 0.0,
                         .bf16_weight = {},
                         .draws = kDraws,
                         .first_index = at});
      gradients.push_back(part(gradient));
      at += count;
    }
  }
  static Values squares(Values values) {
    for (auto& v : values) v *= v;
    return values;
  }
  std::vector<std::vector<unsigned char>> bytes() const { return {weight.bytes(), first.bytes(), second.bytes()}; }

  static constexpr RngStream kDraws{7, "moments"};
  static constexpr int kPieces = 600;
  static constexpr std::int64_t kLong = 70001;
  static constexpr std::int64_t kElements = 9 * kPieces + kLong;
  Operand weight, gradient, first, second;
  std::vector<AdamwTensor> tensors;
  std::vector<TensorView> gradients;
};

TEST_F(Adamw, ManyTensorsEqualEachAlone) {
  const Operand factors(DType::f64, Shape{kAdamwFactors}, {1e-2, 0.1, 0.05, 0.5});
  const Operand step(DType::i32, Shape{1}, {3});
  for (const auto& [moments, gradients] : {std::pair{DType::f32, DType::f32},
                                           {DType::bf16, DType::f32},
                                           {DType::f32, DType::bf16},
                                           {DType::bf16, DType::bf16}}) {
    const StateOfPieces together(1, moments, gradients);
    const StateOfPieces apart(1, moments, gradients);
    const auto before = together.bytes();
    ops_->adamw({.tensors = together.tensors, .factors = factors, .step = step});
    for (const auto& tensor : apart.tensors) ops_->adamw({.tensors = {&tensor, 1}, .factors = factors, .step = step});
    EXPECT_NE(together.bytes(), before);
    EXPECT_TRUE(together.bytes() == apart.bytes());
  }
}

AdamwTensor whole(const StateOfPieces& state) {
  return {.weight = state.weight,
          .gradient = state.gradient,
          .first_moment = state.first,
          .second_moment = state.second,
          .draws = StateOfPieces::kDraws};
}

// Compilers may fuse a product and a sum differently: two results of the operations above, each with its roundings.
TEST_F(Adamw, GradientsInBf16GiveTheResultsOfTheirValues) {
  const Operand factors(DType::f64, Shape{kAdamwFactors}, {1e-2, 0.1, 0.05, 0.5});
  const StateOfPieces rounded(1, DType::f32, DType::bf16);
  StateOfPieces same(1);
  same.gradient.set(rounded.gradient.values());
  const auto of_rounded = whole(rounded);
  const auto of_same = whole(same);
  ops_->adamw({.tensors = {&of_rounded, 1}, .factors = factors});
  ops_->adamw({.tensors = {&of_same, 1}, .factors = factors});
  const auto v = same.second.values();
  const auto w = same.weight.values();
  expect_within(
      rounded.first, same.first.values(), [](std::size_t) { return 2 * gamma(4) * 4.0; }, "first moment");
  expect_within(
      rounded.second, v, [&](std::size_t i) { return 2 * gamma(8) * v[i]; }, "second moment");
  expect_within(
      rounded.weight, w,
      [&](std::size_t i) {
        const double root = std::sqrt(v[i] / 0.05) + 1e-8;
        return 2 * (gamma(14) * 1e-2 * (4.0 / 0.1 / root + 4.0) + kUnitF32 * (std::abs(w[i]) + 1.0));
      },
      "weight");
}

// Draws belong to elements, however these are divided.
TEST_F(Adamw, MomentsAreRoundedByElementAndStep) {
  const Operand factors(DType::f64, Shape{kAdamwFactors}, {1e-2, 0.1, 0.05, 0.5});
  const auto after = [&](double step, std::int64_t cut) {
    const StateOfPieces state(1, DType::bf16);
    const AdamwTensor all = whole(state);
    const auto part = [&](std::int64_t first, std::int64_t count) {
      const auto of = [&](const TensorView& view) { return view.slice(first, Shape{count}); };
      auto out = all;
      out.weight = of(all.weight);
      out.gradient = of(all.gradient);
      out.first_moment = of(all.first_moment);
      out.second_moment = of(all.second_moment);
      out.first_index = first;
      return out;
    };
    const std::vector<AdamwTensor> parts{part(0, cut), part(cut, StateOfPieces::kElements - cut)};
    ops_->adamw({.tensors = parts, .factors = factors, .step = Operand(DType::i32, Shape{1}, {step})});
    return state.bytes();
  };
  const auto first = after(1, 1001);
  for (const std::int64_t cut : {1, 64, 4098, 70003}) EXPECT_TRUE(after(1, cut) == first) << cut;
  EXPECT_FALSE(after(2, 1001) == first);
}

// The update is that of f32 moments, except that a compiler may fuse a product and a sum: two results of the operations
// above, each with its roundings. The stored value of a moment x is one of the two bf16 numbers around it (x itself may
// differ by as little), the upper one with probability f, x's fraction. Over n elements sum(f) are rounded up, with a
// variance of sum(f (1 - f)), at most n / 4; five deviations are allowed. The two moments of an element have
// independent draws: both are rounded up with the product of their probabilities.
TEST_F(Adamw, MomentsInBf16AreRoundedByChanceAndTheirUpdateIsNot) {
  const Operand factors(DType::f64, Shape{kAdamwFactors}, {1e-2, 0.1, 0.05, 0.5});
  const Operand step(DType::i32, Shape{1}, {1});
  const StateOfPieces rounded(1, DType::bf16);
  StateOfPieces exact(1);
  exact.first.set(rounded.first.values());
  exact.second.set(rounded.second.values());
  const auto of_rounded = whole(rounded);
  const auto of_exact = whole(exact);
  ops_->adamw({.tensors = {&of_rounded, 1}, .factors = factors, .step = step});
  ops_->adamw({.tensors = {&of_exact, 1}, .factors = factors});
  const auto v = exact.second.values();
  const auto w = exact.weight.values();
  expect_within(
      rounded.weight, w,
      [&](std::size_t i) {
        const double root = std::sqrt(v[i] / 0.05) + 1e-8;
        return 2 * (gamma(14) * 1e-2 * (4.0 / 0.1 / root + 4.0) + kUnitF32 * (std::abs(w[i]) + 1.0));
      },
      "weight");
  std::vector<double> fractions[2];
  std::vector<bool> ups[2];
  const double five_deviations = 5 * std::sqrt(StateOfPieces::kElements / 4.0);
  for (const bool second : {false, true}) {
    const auto got = (second ? rounded.second : rounded.first).values();
    const auto want = (second ? exact.second : exact.first).values();
    double expected = 0;
    double found = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(want[i]));
      const auto low = static_cast<double>(std::bit_cast<float>(bits & 0xFFFF0000U));
      const auto high = static_cast<double>(std::bit_cast<float>((bits & 0xFFFF0000U) + 0x10000U));
      ASSERT_LE(std::abs(got[i] - want[i]), std::abs(high - low) * (1 + 0x1p-12)) << i;
      fractions[second ? 1 : 0].push_back((want[i] - low) / (high - low));
      ups[second ? 1 : 0].push_back(std::abs(got[i]) > std::abs(want[i]));
      expected += fractions[second ? 1 : 0].back();
      found += ups[second ? 1 : 0].back() ? 1 : 0;
    }
    EXPECT_NEAR(found, expected, five_deviations);
  }
  double expected_both = 0;
  double both = 0;
  for (std::size_t i = 0; i < ups[0].size(); ++i) {
    expected_both += fractions[0][i] * fractions[1][i];
    both += ups[0][i] && ups[1][i] ? 1 : 0;
  }
  EXPECT_NEAR(both, expected_both, five_deviations);
}

// Without a gradient, v halves in 693 steps of beta2 = 0.999. Rounded to nearest it would not change: a step takes
// 0.001 of it, and the next lower bf16 is 0.0039 away. With stochastic rounding its mean falls as it should. The
// variance of one step's rounding is at most a quarter of the squared distance of two neighbours, which below 1 is
// 2^-8; that of k steps is k times as much, and that of the mean of n elements the n-th part. Five deviations are
// allowed.
TEST_F(Adamw, ASecondMomentInBf16FallsByLessThanOnePlace) {
  constexpr int kSteps = 300;
  constexpr std::int64_t kElements = 4000;
  const Shape shape{kElements};
  const Operand zeros(DType::f32, shape), weight(DType::f32, shape), first(DType::bf16, shape);
  const Operand second(DType::bf16, shape, Values(kElements, 0.99609375));
  const AdamwTensor tensor{.weight = weight, .gradient = zeros, .first_moment = first, .second_moment = second};
  const Operand factors(DType::f64, Shape{kAdamwFactors}, {1e-2, 0.1, 0.05, 1.0});
  for (int step = 0; step < kSteps; ++step) {
    ops_->adamw({.tensors = {&tensor, 1},
                 .factors = factors,
                 .step = Operand(DType::i32, Shape{1}, {static_cast<double>(step)}),
                 .beta2 = 0.999});
  }
  double mean = 0;
  for (const double v : second.values()) mean += v / kElements;
  const double deviation = std::sqrt(kSteps * 0.25 * 0x1p-16 / kElements);
  EXPECT_NEAR(mean, 0.99609375 * std::pow(0.999, kSteps), 5 * deviation);
}

// Whole vectors, a part of one, and places between them.
TEST_F(Adamw, RoundsTheNewWeightAsACopyDoes) {
  const Operand factors(DType::f64, Shape{kAdamwFactors}, {1e-2, 0.1, 0.05, 0.5});
  const StateOfPieces plain(1);
  StateOfPieces state(1);
  const auto zeros = [] {
    return Operand(DType::bf16, Shape{StateOfPieces::kElements}, Values(StateOfPieces::kElements));
  };
  const Operand rounded = zeros();
  const Operand copied = zeros();
  std::int64_t at = 0;
  for (auto& tensor : state.tensors) {
    tensor.bf16_weight = rounded.view().slice(at, tensor.weight.shape);
    at += tensor.weight.elements();
  }
  ops_->adamw({.tensors = state.tensors, .factors = factors});
  ops_->adamw({.tensors = plain.tensors, .factors = factors});
  EXPECT_TRUE(state.bytes() == plain.bytes());
  ops_->copy(copied.view().slice(0, Shape{at}), state.weight.view().slice(0, Shape{at}));
  EXPECT_TRUE(rounded.bytes() == copied.bytes());
}

class SumOfSquares : public OpsTest {};

TEST_F(SumOfSquares, ManyTensorsEqualOneAfterTheOther) {
  const StateOfPieces state(1);
  const Operand together(DType::f64, Shape{1}, {3.0}), apart(DType::f64, Shape{1}, {5.0});
  ops_->sum_of_squares(together, state.gradients, Write::overwrite);
  auto write = Write::overwrite;
  for (const auto& gradient : state.gradients) {
    ops_->sum_of_squares(apart, {&gradient, 1}, write);
    write = Write::accumulate;
  }
  EXPECT_EQ(together.values(), apart.values());
  // The pieces lie one behind the other; memory behind the last one is not part of them.
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

class CastStochastic : public OpsTest {
 protected:
  Operand cast(const Operand& in, std::int32_t step, std::string_view stream = "rounding of layers.3",
               std::int64_t first_index = 0) {
    Operand out(DType::bf16, in.view().shape);
    ops_->cast_stochastic({.out = out,
                           .in = in,
                           .step = Operand(DType::i32, Shape{1}, {static_cast<double>(step)}),
                           .seed = 7,
                           .stream = stream,
                           .first_index = first_index});
    wait_for_ops();
    return out;
  }
};

// The bf16 on either side of an f32, and how far it is towards the one that is further from zero.
struct Neighbours {
  explicit Neighbours(double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value)) & 0xFFFF0000U;
    near_zero = static_cast<double>(std::bit_cast<float>(bits));
    beyond = static_cast<double>(std::bit_cast<float>(bits + 0x10000U));
    fraction = (value - near_zero) / (beyond - near_zero);
  }
  double near_zero, beyond, fraction;
};

// Computed by the definition, in f64 and the same for every backend: so all must have the same bits. An element is
// rounded up if its draw, as a fraction, and its own fraction add up to at least one.
TEST_F(CastStochastic, TakesTheNeighbourThatTheElementsDrawChooses) {
  const Shape shape{1003};
  auto values = random_operand(DType::f32, shape, 1).values();
  values[1] = 1.5;         // exactly a bf16
  values[2] = 0x1.8p-149;  // denormal
  values[3] = 0.0;
  const Operand in(DType::f32, shape, values);
  constexpr std::int64_t kFirst = 64;
  const auto out = cast(in, 5, "w", kFirst);
  const auto got = out.values();
  const auto exact = in.values();
  const RngStream stream = RngStream(7, "w").at(5);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const Neighbours to(exact[i]);
    const auto index = static_cast<std::uint64_t>(kFirst) + i;
    const double draw = static_cast<double>(stream.bits(index / 4) >> (index % 4 * 16) & 0xFFFFU) * 0x1p-16;
    EXPECT_EQ(got[i], to.fraction + draw >= 1.0 ? to.beyond : to.near_zero) << i << ": " << exact[i];
  }
}

// Out of n elements with fraction f, n f are rounded up: a binomial number, whose standard deviation is sqrt(n f (1 -
// f)).
TEST_F(CastStochastic, IsUnbiasedInElementsAndSteps) {
  constexpr std::int64_t kCount = 1 << 16;
  constexpr double kSigmas = 5.0;
  for (const double value : {1.0 + 0x1p-8, 1.0 + 0x1p-10, -3.0 - 0x1.8p-7, 0x1.fcp-20 + 0x1p-34}) {
    const Neighbours to(value);
    const Operand in(DType::f32, Shape{kCount}, Values(kCount, value));
    Values before;
    for (const int step : {0, 1, 2}) {
      const auto got = cast(in, step).values();
      double up = 0.0, again = 0.0, neighbour = 0.0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const bool goes_up = got[i] == to.beyond;
        ASSERT_TRUE(goes_up || got[i] == to.near_zero) << got[i];
        up += goes_up ? 1.0 : 0.0;
        if (!before.empty()) again += goes_up && before[i] == to.beyond ? 1.0 : 0.0;
        if (i > 0) neighbour += goes_up && got[i - 1] == to.beyond ? 1.0 : 0.0;
      }
      const auto expect_binomial = [&](double count, double probability, const char* what) {
        const double n = kCount;
        EXPECT_NEAR(count, n * probability, kSigmas * std::sqrt(n * probability * (1.0 - probability)))
            << what << " of " << value << " at step " << step;
      };
      expect_binomial(up, to.fraction, "up");
      // The draws of an element's next step, and those of the next element, are independent of its own.
      if (!before.empty()) expect_binomial(again, to.fraction * to.fraction, "up again");
      expect_binomial(neighbour, to.fraction * to.fraction, "up with its neighbour");
      before = got;
    }
  }
}

TEST_F(CastStochastic, DependsOnNameStepAndElementAlone) {
  const Shape shape{100003};
  const auto in = random_operand(DType::f32, shape, 1);
  const auto bytes = cast(in, 3).bytes();
  EXPECT_TRUE(cast(in, 3).bytes() == bytes);
  EXPECT_FALSE(cast(in, 4).bytes() == bytes);
  EXPECT_FALSE(cast(in, 3, "rounding of layers.4").bytes() == bytes);
  constexpr std::int64_t kFirst = 332, kPart = 1001;
  const auto whole = in.values();
  const Operand part(DType::f32, Shape{kPart}, Values(whole.begin() + kFirst, whole.begin() + kFirst + kPart));
  const auto of_part = cast(part, 3, "rounding of layers.3", kFirst).bytes();
  EXPECT_TRUE(std::equal(of_part.begin(), of_part.end(), bytes.begin() + 2 * kFirst));
}

TEST_F(CastStochastic, KeepsNansAndInfinities) {
  Values values(20, INFINITY);
  values[7] = -INFINITY;
  const Operand in(DType::f32, Shape{20}, values);
  in.view().as<std::uint32_t>()[5] = 0x7F800001U;
  in.view().as<std::uint32_t>()[6] = 0xFFFFFFFFU;
  const auto got = cast(in, 1).values();
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (i == 5 || i == 6) {
      EXPECT_TRUE(std::isnan(got[i]));
    } else {
      EXPECT_EQ(got[i], values[i]);
    }
  }
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

// Columns 30 to 66 of a matrix with 100, beginning in the middle of a row: rows that begin and end inside a vector, and
// more of them than one thread fills.
TEST_F(FillNormal, TakesAPartOfAMatrixFromTheSameDraws) {
  constexpr std::int64_t kColumns = 100;
  constexpr std::int64_t kFirst = 30;
  constexpr std::int64_t kRun = 37;
  constexpr std::int64_t kSkip = 50;
  constexpr std::int64_t kRows = 2000;
  const Operand all(DType::f32, Shape{kRows * kColumns});
  ops_->fill_normal({.out = all, .seed = 7, .stream = "w"});
  const Operand part(DType::f32, Shape{kRows * kRun - kSkip});
  ops_->fill_normal(
      {.out = part, .seed = 7, .stream = "w", .first_index = kFirst, .skip = kSkip, .run = kRun, .stride = kColumns});
  wait_for_ops();
  for (std::int64_t i = 0; i < kRows * kRun - kSkip; ++i) {
    const std::int64_t row = (kSkip + i) / kRun;
    const std::int64_t column = kFirst + (kSkip + i) % kRun;
    ASSERT_EQ(part.view().as<float>()[i], all.view().as<float>()[row * kColumns + column]) << i;
  }
}

class Addition : public OpsTest {};

TEST_F(Addition, AddingF32ToBf16RoundsOnlyTheSum) {
  for (const std::int64_t n : {1, 15, 16, 1003}) {
    const auto sum = random_operand(DType::bf16, Shape{n}, 1);
    const auto added = random_operand(DType::f32, Shape{n}, 2);
    Values want = sum.values();
    const auto terms = added.values();
    for (std::size_t i = 0; i < want.size(); ++i) {
      want[i] = oracle::rounded_to(DType::bf16, static_cast<double>(static_cast<float>(want[i] + terms[i])));
    }
    ops_->add(sum, sum, added);
    EXPECT_EQ(sum.values(), want);
  }
  const Operand floats(DType::f32, Shape{3});
  EXPECT_THROW(ops_->add(floats, floats, Operand(DType::bf16, Shape{3})), LogicFault);
}

}  // namespace
}  // namespace perfbench::engine
