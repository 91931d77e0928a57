#include "harness/stats/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "harness/stats/log_difference.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

Sample sample(std::vector<double> values) {
  return {.values = std::move(values), .probe_s = {}};
}

// Runs around `middle` whose logs have this standard deviation.
Sample noisy(std::mt19937_64& engine, std::size_t runs, double middle, double sd) {
  std::normal_distribution<double> noise(0.0, sd);
  Sample out;
  for (std::size_t i = 0; i < runs; ++i) out.values.push_back(middle * std::exp(noise(engine)));
  return out;
}

TEST(PermutationTest, CountsTheSplitsAtLeastAsExtreme) {
  // {1,2} against {3,4}: among 6 splits only this one and its mirror image are as far apart.
  EXPECT_DOUBLE_EQ(permutation_p({1, 2}, {3, 4}), 2.0 / 6);
  // {1,3} against {2,4}: |difference| 1; splits {12},{34},{13},{24} reach it, {14},{23} (difference 0) do not.
  EXPECT_DOUBLE_EQ(permutation_p({1, 3}, {2, 4}), 4.0 / 6);
  EXPECT_DOUBLE_EQ(permutation_p({5, 5}, {5, 5}), 1.0);
  EXPECT_DOUBLE_EQ(permutation_p({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 2.0 / 252);
}

TEST(SignFlipTest, CountsTheFlipsAtLeastAsExtreme) {
  EXPECT_DOUBLE_EQ(sign_flip_p({1, 1, 1}), 2.0 / 8);
  // Sums over flips of {1, 2}: 3, 1, -1, -3; observed 1: all four reach it.
  EXPECT_DOUBLE_EQ(sign_flip_p({-1, 2}), 1.0);
}

TEST(SmallestP, EqualsThePOfTheMostExtremeSample) {
  EXPECT_DOUBLE_EQ(smallest_p(5, 5), 2.0 / 252);
  EXPECT_DOUBLE_EQ(smallest_p(4, 4), 2.0 / 70);
  EXPECT_DOUBLE_EQ(smallest_p(5, 5), permutation_p({1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}));
  EXPECT_DOUBLE_EQ(smallest_p_against_constant(8), 2.0 / 256);
}

TEST(Decision, SingleRunsAreInconclusiveHoweverLargeTheRatio) {
  const auto d = decide(sample({2.0}), sample({1.0}), {});
  EXPECT_EQ(d.verdict, Verdict::inconclusive);
  EXPECT_EQ(d.reason, VerdictReason::too_few_runs);
  EXPECT_DOUBLE_EQ(*d.ratio, 2.0);
  EXPECT_FALSE(d.ratio_95);
  EXPECT_THAT(d.detail, HasSubstr("needs 5 against 5 (--repeats 5)"));
}

// For example an accuracy. Times and sizes are never 0.
TEST(Decision, ZeroHasNoRatioButIsAValidNumber) {
  const DecisionRule more_is_better{.direction = spec::Direction::higher_is_better};
  const auto some = sample(std::vector<double>(6, 0.5));
  const auto none = sample(std::vector<double>(6, 0.0));
  EXPECT_EQ(decide(none, some, more_is_better).verdict, Verdict::regressed);
  EXPECT_EQ(decide(some, none, more_is_better).verdict, Verdict::improved);
  EXPECT_EQ(decide(none, none, more_is_better).verdict, Verdict::same);
  EXPECT_FALSE(decide(none, some, more_is_better).ratio);
  EXPECT_EQ(decide(none, sample({0.5, 0.5}), more_is_better).reason, VerdictReason::too_few_runs);
  EXPECT_EQ(decide(sample({0.0, 0.5}), some, more_is_better).reason, VerdictReason::no_measurement);
}

TEST(Decision, FourAgainstFourCannotReachTheLevel) {
  const auto d = decide(sample({2, 2.01, 2.02, 2.03}), sample({1, 1.01, 1.02, 1.03}), {});
  EXPECT_EQ(d.reason, VerdictReason::too_few_runs);
  EXPECT_TRUE(d.ratio_95) << "an interval is shown all the same";
}

TEST(Decision, FindsAClearSlowdownAndAClearGain) {
  const std::vector<double> slow{1.10, 1.11, 1.12, 1.09, 1.10};
  const std::vector<double> fast{1.00, 1.01, 1.02, 0.99, 1.00};
  const auto slower = decide(sample(slow), sample(fast), {});
  EXPECT_EQ(slower.verdict, Verdict::regressed);
  EXPECT_EQ(slower.reason, VerdictReason::significant);
  EXPECT_EQ(decide(sample(fast), sample(slow), {}).verdict, Verdict::improved);
  const DecisionRule rate{.direction = spec::Direction::higher_is_better};
  EXPECT_EQ(decide(sample(fast), sample(slow), rate).verdict, Verdict::regressed);
}

TEST(Decision, CallsEqualSidesTheSameOnlyWhenTheyAreTightEnough) {
  const auto tight = decide(sample({1.000, 1.001, 0.999, 1.002, 1.0}), sample({1.001, 1.0, 0.999, 1.001, 1.0}), {});
  EXPECT_EQ(tight.verdict, Verdict::same);
  const auto wide = decide(sample({1.0, 1.3, 0.8, 1.1, 0.9}), sample({1.2, 0.8, 1.0, 0.9, 1.1}), {});
  EXPECT_EQ(wide.verdict, Verdict::inconclusive);
  EXPECT_EQ(wide.reason, VerdictReason::not_significant);
  EXPECT_GT(*wide.detectable_fraction, 0.02);
}

// Five runs a side with a deviation of 0.8 % detect 2.15 % (t quantiles 3.36 + 0.89, times 0.0079 sqrt(2 / 5)), six
// detect 1.9 %.
TEST(Decision, SaysHowManyRepeatsWouldDetectTheMargin) {
  Sample slower;
  Sample usual;
  for (const double x : {-0.010, -0.005, 0.0, 0.005, 0.010}) {
    usual.values.push_back(std::exp(x));
    slower.values.push_back(std::exp(x + 0.012));
  }
  const auto close = decide(slower, usual, {});
  EXPECT_EQ(close.reason, VerdictReason::not_significant);
  EXPECT_THAT(close.detail, HasSubstr("6 a side (--repeats 6) would detect 2.0 %"));
  std::mt19937_64 engine(3);
  const auto wild = decide(noisy(engine, 5, 1.0, 0.3), noisy(engine, 5, 1.0, 0.3), {});
  EXPECT_EQ(wild.reason, VerdictReason::not_significant);
  EXPECT_THAT(wild.detail, testing::Not(HasSubstr("--repeats"))) << "no number of repeats that is used would";
}

TEST(DecideExact, ACountNeedsOneRunASideAndNoTest) {
  const DecisionRule memory{.margin_fraction = 0.01};
  const auto decided = [&](const std::vector<double>& current, const std::vector<double>& baseline) {
    return decide_exact(current, baseline, memory, exactness_of(spec::MetricNoise::counted));
  };
  EXPECT_EQ(decided({102}, {100})->verdict, Verdict::regressed);
  EXPECT_EQ(decided({100.5}, {100, 100, 100})->verdict, Verdict::same);
  EXPECT_DOUBLE_EQ(*decided({102}, {100})->ratio, 1.02);
  EXPECT_FALSE(decided({102, 103}, {100, 100})) << "it has noise here after all";
  EXPECT_FALSE(decided({}, {100}));
}

// One run of each side cannot show that a loss repeats, and with other libraries rounding may differ.
TEST(DecideExact, ADifferentLossNeedsTwoRunsASideThatRepeat) {
  const DecisionRule loss{.margin_fraction = 0.002};
  const auto decided = [&](const std::vector<double>& current, const std::vector<double>& baseline,
                           Exactness exactness = exactness_of(spec::MetricNoise::exact)) {
    return decide_exact(current, baseline, loss, exactness);
  };
  EXPECT_FALSE(decided({2.51}, {2.5}));
  EXPECT_FALSE(decided({2.51, 2.51}, {2.5}));
  EXPECT_FALSE(decided({2.501}, {2.5})) << "a margin needs more than one run";
  EXPECT_EQ(decided({2.51, 2.51}, {2.5, 2.5})->verdict, Verdict::regressed);
  EXPECT_EQ(decided({2.5}, {2.5})->verdict, Verdict::same);
  EXPECT_FALSE(decided({2.51, 2.51}, {2.5, 2.5}, Exactness::doubted));
  EXPECT_EQ(decided({2.5}, {2.5}, Exactness::doubted)->verdict, Verdict::same);
}

TEST(Decision, CountsWithoutAnySpreadAreDecided) {
  const std::vector<double> bytes(5, 1e9);
  EXPECT_EQ(decide(sample(bytes), sample(bytes), {}).verdict, Verdict::same);
  EXPECT_EQ(decide(sample(std::vector<double>(5, 1.1e9)), sample(bytes), {}).verdict, Verdict::regressed);
}

TEST(Decision, IsInconclusiveWhenTheMachineRanAtAnotherSpeed) {
  Sample current{.values = {2, 2, 2, 2, 2}, .probe_s = {0.002, 0.002, 0.002, 0.002, 0.002}};
  Sample baseline{.values = {1, 1, 1, 1, 1}, .probe_s = {0.001, 0.001, 0.001, 0.001, 0.001}};
  const auto d = decide(current, baseline, {});
  EXPECT_EQ(d.verdict, Verdict::inconclusive);
  EXPECT_EQ(d.reason, VerdictReason::machine_speed_changed);
}

TEST(Decision, SaysHowManyRunsWereLeftOut) {
  const Sample current{.values = {1.0}, .noisy = {1.5, 1.6, 1.7}};
  EXPECT_THAT(decide(current, sample({1.0}), {}).detail, HasSubstr("3 left out because the noise probe moved"));
}

TEST(Decision, NoisyRunsAloneShowARatioAndConcludeNothing) {
  const Sample noisy{.values = {}, .noisy = {2, 2, 2, 2, 2, 2, 2, 2}};
  for (const auto& d :
       {decide(noisy, sample(std::vector<double>(8, 1.0)), {}), decide_against_constant(noisy, 1, {})}) {
    EXPECT_EQ(d.verdict, Verdict::inconclusive);
    EXPECT_EQ(d.reason, VerdictReason::all_noisy);
    EXPECT_NEAR(*d.ratio, 2, 1e-12);
  }
  EXPECT_EQ(decide(Sample{}, sample({1.0}), {}).reason, VerdictReason::no_measurement);
}

TEST(Decision, AgainstAConstantNeedsEightRuns) {
  EXPECT_EQ(decide_against_constant(sample({2, 2, 2, 2, 2, 2, 2}), 1.0, {}).reason, VerdictReason::too_few_runs);
  const auto d = decide_against_constant(sample({1.1, 1.11, 1.09, 1.1, 1.12, 1.1, 1.09, 1.1}), 1.0, {});
  EXPECT_EQ(d.verdict, Verdict::regressed);
  EXPECT_NEAR(*d.ratio, 1.1, 0.01);
}

// On unchanged data with 5 % noise at most 1 % of decisions may name a difference: the binomial 99.9 % bound for 4000
// trials at p = 0.0079 is 4000 * 0.0079 + 3.1 * sqrt(4000 * 0.0079) = 49.
TEST(Decision, KeepsItsErrorRateWhenNothingChanged) {
  std::mt19937_64 engine(5);
  int wrong = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto d = decide(noisy(engine, 5, 1.0, 0.05), noisy(engine, 5, 1.0, 0.05), {});
    wrong += d.verdict == Verdict::regressed || d.verdict == Verdict::improved;
  }
  EXPECT_LE(wrong, 49);
  EXPECT_GE(wrong, 5) << "the test would be without power";
}

// The power at the effect that is reported as detectable is 0.8 by the normal-theory formula; the permutation test on 8
// runs loses a little. 400 trials: three standard errors are 0.06.
TEST(Decision, FindsTheEffectItCallsDetectable) {
  std::mt19937_64 engine(6);
  double effect = 0;
  for (int i = 0; i < 200; ++i) {
    effect += *decide(noisy(engine, 8, 1.0, 0.01), noisy(engine, 8, 1.0, 0.01), {}).detectable_fraction / 200;
  }
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    const auto d =
        decide(noisy(engine, 8, 1.0 + effect, 0.01), noisy(engine, 8, 1.0, 0.01), {.margin_fraction = 0.001});
    found += d.verdict == Verdict::regressed;
  }
  EXPECT_NEAR(found / 400.0, 0.8, 0.1);
}

}  // namespace
}  // namespace perfbench::harness
