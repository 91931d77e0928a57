#include "harness/stats/paired_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "harness/stats/false_discovery.h"
#include "harness/stats/pairs.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

// Pairs whose log ratios are exactly these, on a machine that becomes slower from pair to pair: the runs of a pair
// share most of their noise, and only their ratios count.
std::vector<Pair> pairs_of(const std::vector<double>& d) {
  std::vector<Pair> out;
  double a = 2.0;
  for (const double x : d) {
    out.push_back({.a = a, .b = a * std::exp(x)});
    a *= 1.5;
  }
  return out;
}

// Runs of these logs.
std::vector<Pair> runs_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<Pair> out;
  for (std::size_t i = 0; i < a.size(); ++i) out.push_back({.a = std::exp(a[i]), .b = std::exp(b[i])});
  return out;
}

std::vector<Pair> noisy_pairs(std::mt19937_64& engine, std::size_t count, double ratio, double run_sd) {
  std::normal_distribution<double> noise(0.0, run_sd);
  std::vector<Pair> out;
  for (std::size_t i = 0; i < count; ++i) {
    const double a = std::exp(noise(engine));
    out.push_back({.a = a, .b = ratio * std::exp(noise(engine))});
  }
  return out;
}

const std::vector<double> kSlowerPairs{0.05, 0.06, 0.04, 0.05, 0.055, 0.045, 0.05, 0.06};

TEST(PairedDecision, NamesASlowdownAndAGainByTheMetricsDirection) {
  auto faster = kSlowerPairs;
  for (auto& d : faster) d = -d;
  const PairedRule time;
  const PairedRule rate{.direction = spec::Direction::higher_is_better};
  EXPECT_EQ(decide_pairs(pairs_of(kSlowerPairs), time).decision.verdict, Verdict::regressed);
  EXPECT_EQ(decide_pairs(pairs_of(faster), time).decision.verdict, Verdict::improved);
  EXPECT_EQ(decide_pairs(pairs_of(kSlowerPairs), rate).decision.verdict, Verdict::improved);
  EXPECT_EQ(decide_pairs(pairs_of(faster), rate).decision.verdict, Verdict::regressed);
}

TEST(PairedDecision, GivesTheEstimateAndItsIntervalWhateverTheVerdict) {
  // mean 0.05125, sd 0.0069437, t(7; 0.975) = 2.3646: half width 0.005805
  const auto d = decide_pairs(pairs_of(kSlowerPairs), {}).decision;
  EXPECT_NEAR(*d.ratio, std::exp(0.05125), 1e-9);
  EXPECT_NEAR(d.ratio_95->low, std::exp(0.05125 - 0.005805), 2e-6);
  EXPECT_NEAR(d.ratio_95->high, std::exp(0.05125 + 0.005805), 2e-6);
  EXPECT_TRUE(decide_pairs(pairs_of({0.3, -0.2, 0.1, 0.2}), {}).decision.ratio_95);
}

// The smallest that eight pairs name is Student's t of 7 degrees at 0.0062, 3.9 standard errors; a 95 % interval
// reaches 2.4 of them down. Six standard errors reach below the smallest, ten do not.
TEST(PairedDecision, SaysThatADifferenceWasSelectedAtItsLook) {
  const auto with_mean = [](double mean) {
    std::vector<double> out;
    for (const double x : {-1.5, -1.0, -0.6, -0.2, 0.2, 0.6, 1.0, 1.5}) out.push_back(mean + 0.01 * x);
    return decide_pairs(pairs_of(out), {});
  };
  constexpr double kError = 0.00361;  // of the mean: a deviation of 1.021 % over the root of 8
  const auto near = with_mean(6 * kError);
  EXPECT_EQ(near.decision.verdict, Verdict::regressed);
  EXPECT_TRUE(near.selected);
  EXPECT_THAT(near.decision.detail, HasSubstr("selected at a look"));
  const auto far = with_mean(10 * kError);
  EXPECT_EQ(far.decision.verdict, Verdict::regressed);
  EXPECT_FALSE(far.selected);
  EXPECT_THAT(far.decision.detail, testing::Not(HasSubstr("selected")));
}

TEST(PairedDecision, CannotNameADifferenceAtFourPairsHoweverLarge) {
  const auto d = decide_pairs(pairs_of({0.50, 0.51, 0.49, 0.50}), {});
  EXPECT_EQ(d.decision.reason, VerdictReason::too_few_runs);
  EXPECT_FALSE(d.final);
  EXPECT_EQ(d.next_look, 8U);
  EXPECT_FALSE(d.decision.p);
}

TEST(PairedDecision, StopsAtFourPairsWhenTheSidesAreClearlyTheSame) {
  const auto d = decide_pairs(pairs_of({0.001, -0.001, 0.0005, -0.0005}), {});
  EXPECT_EQ(d.decision.verdict, Verdict::same);
  EXPECT_TRUE(d.final);
  EXPECT_EQ(d.next_look, 0U);
}

TEST(PairedDecision, AsksForTheNextLookUntilThereIsNone) {
  const std::vector<double> wide{0.05, -0.04, 0.03, -0.05, 0.04, -0.02, 0.03, -0.05,
                                 0.05, -0.04, 0.03, -0.05, 0.04, -0.02, 0.03, -0.05};
  const auto at = [&](std::size_t n) {
    return decide_pairs(pairs_of({wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(n)}), {});
  };
  EXPECT_EQ(at(3).next_look, 4U);
  EXPECT_EQ(at(4).next_look, 8U);
  EXPECT_EQ(at(8).next_look, 16U);
  EXPECT_FALSE(at(8).final);
  EXPECT_TRUE(at(16).final);
  EXPECT_EQ(at(16).decision.verdict, Verdict::inconclusive);
  EXPECT_EQ(decide_pairs({}, {}).next_look, 4U);
}

// A mean of 0.0 and a deviation of 3.6 %: after 12 pairs the standard error would be 1.0 %, while a verdict about 2 %
// needs at most 0.7 %.
TEST(PairedDecision, StopsWhereTheLastLookWouldHardlyDecide) {
  const auto noisy = pairs_of({0.05, -0.04, 0.03, -0.05, 0.04, -0.02, 0.03, -0.04});
  PairedRule rule{.looks = {8, 12}, .futile_below = 0.1};
  const auto d = decide_pairs(noisy, rule);
  EXPECT_EQ(d.decision.verdict, Verdict::inconclusive);
  EXPECT_EQ(d.decision.reason, VerdictReason::futile);
  EXPECT_TRUE(d.final);
  EXPECT_EQ(d.later_look, 12U);
  EXPECT_THAT(d.decision.detail,
              HasSubstr("stopped after 8 of 12 pairs, because a decision has only the probability "));
  rule.futile_below = 0;
  EXPECT_FALSE(decide_pairs(noisy, rule).final);
}

TEST(PairedDecision, GoesOnWhereTheLastLookMayDecide) {
  const std::vector<double> promising{0.03, 0.005, 0.03, -0.005, 0.03, 0.005, 0.03, -0.01};
  const PairedRule rule{.looks = {8, 24}, .futile_below = 0.1};
  const auto d = decide_pairs(pairs_of(promising), rule);
  EXPECT_EQ(d.decision.reason, VerdictReason::not_significant) << d.decision.detail;
  EXPECT_EQ(d.next_look, 24U);
}

TEST(PairedDecision, LeavesPairsBeyondALookForTheNextOne) {
  auto more = kSlowerPairs;
  more.push_back(5.0);
  EXPECT_EQ(decide_pairs(pairs_of(more), {}).decision.ratio, decide_pairs(pairs_of(kSlowerPairs), {}).decision.ratio);
  EXPECT_NE(decide_pairs(pairs_of(more), {.looks = {4, 8}}).decision.ratio,
            decide_pairs(pairs_of(kSlowerPairs), {}).decision.ratio);
}

TEST(PairedDecision, WithoutAnyVariationStillDecides) {
  EXPECT_EQ(decide_pairs(pairs_of(std::vector<double>(8, 0.0)), {}).decision.verdict, Verdict::same);
  EXPECT_EQ(decide_pairs(pairs_of(std::vector<double>(8, 0.1)), {}).decision.verdict, Verdict::regressed);
}

TEST(PairedDecision, TheSignFlipTestMustAgreeWithTheTTest) {
  // One of eight pairs points the other way, by a tiny amount: t is large (p far below 0.01), but two of 256 flips are
  // as extreme.
  const std::vector<double> d{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, -0.00001};
  const auto found = decide_pairs(pairs_of(d), {.margin_fraction = 0.001});
  EXPECT_EQ(found.decision.verdict, Verdict::inconclusive);
  EXPECT_LT(*found.decision.p, 0.01);
  EXPECT_THAT(found.decision.detail, HasSubstr("sign-flip"));
}

TEST(PairedDecision, TakesTheNoiseOfAllRunsWherePairsHaveNothingInCommon) {
  // Both sides have the values 0, 0.02 and 0.04 twice, B 0.03 more: the variance is 0.02^2 * 4 / 5 a side, so the error
  // of the difference of means of 6 is 0.02 * sqrt(0.8 * 2 / 6), with 10 degrees of freedom: t(10; 0.975) = 2.228139.
  const std::vector<double> a{0, 0.02, 0.04, 0, 0.02, 0.04};
  const auto d = decide_pairs(runs_of(a, {0.05, 0.03, 0.07, 0.07, 0.05, 0.03}), {.looks = {6}}).decision;
  EXPECT_NEAR(*d.ratio, std::exp(0.03), 1e-9);
  EXPECT_NEAR(d.ratio_95->low, std::exp(0.03 - 2.228139 * 0.02 * std::sqrt(0.8 * 2 / 6)), 1e-8);
  // The same values in pairs: only the shift is left, whatever else the runs do.
  const auto same_noise = decide_pairs(runs_of(a, {0.03, 0.05, 0.07, 0.03, 0.05, 0.07}), {.looks = {6}}).decision;
  EXPECT_NEAR(same_noise.ratio_95->low, std::exp(0.03), 1e-9);
}

TEST(PairedDecisionSimulation, ASecondRunThatIsSlowerMakesNoDifferenceUnderTheBalancedOrder) {
  // Being second costs 10 % of a run, five times the noise. If a coin decided each pair, an uneven outcome would look
  // like a difference. 2000 trials with a rate of at most 0.01 find at most 20 + 3.1 * sqrt(20) = 33 in 99.9 % of
  // cases.
  std::mt19937_64 engine(5);
  int wrong = 0;
  for (std::uint64_t trial = 0; trial < 2000; ++trial) {
    auto pairs = noisy_pairs(engine, 8, 1.0, 0.02);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      (first_side(1, trial, i + 1) == Side::a ? pairs[i].b : pairs[i].a) *= 1.1;
    }
    const auto verdict = decide_pairs(pairs, {.margin_fraction = 1e-9, .looks = {8}}).decision.verdict;
    wrong += verdict == Verdict::regressed || verdict == Verdict::improved;
  }
  EXPECT_LE(wrong, 33);
}

TEST(PairedDecisionSimulation, FindsAShiftOfTwoDeviationsInEightPairsFourTimesInFive) {
  // The two-sample t test of 8 and 8 at 0.01 finds it with probability 0.825 (SciPy's noncentral t); pairs that look
  // alike by chance cost a little. 2000 trials with a rate of 0.8 find fewer than 1600 - 3.1 * sqrt(2000 * 0.16) = 1545
  // in 0.1 % of cases.
  std::mt19937_64 engine(6);
  int found = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const auto pairs = noisy_pairs(engine, 8, std::exp(0.02), 0.01);
    found += decide_pairs(pairs, {.margin_fraction = 0.001, .looks = {4, 8}}).decision.verdict == Verdict::regressed;
  }
  EXPECT_GE(found, 1545);
}

TEST(PairedDecision, SpendsExactlyItsLevelOverTheLooks) {
  const auto levels = look_levels({});
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].difference, 0) << "four pairs cannot pass the sign-flip test";
  EXPECT_NEAR(levels[1].difference, 0.01 * std::log(1 + (std::exp(1.0) - 1) * 0.5), 1e-12);
  EXPECT_NEAR(levels[1].difference + levels[2].difference, 0.01, 1e-12);
  EXPECT_NEAR(levels[0].equivalence + levels[1].equivalence + levels[2].equivalence, 0.05, 1e-12);
  EXPECT_NEAR(look_levels({.looks = {4, 8}})[1].difference, 0.01, 1e-12);
  EXPECT_NEAR(look_levels({.looks = {8}})[0].equivalence, 0.05, 1e-12);
}

TEST(PairedDecision, ReportsTheDetectableEffectAndThePairsThatTheMarginNeeds) {
  // sd of d is 0.01 * sqrt(8 / 7) = 0.010690; (t(7; 0.995) + t(7; 0.8)) / sqrt(8) * sd = (3.4995 + 0.8960) * 0.0037796.
  const auto eight = pairs_of({0.01, -0.01, 0.01, -0.01, 0.01, -0.01, 0.01, -0.01});
  const PairedRule rule{.margin_fraction = 0.005, .looks = {8}};
  const auto d = decide_pairs(eight, rule);
  EXPECT_NEAR(std::log1p(*d.decision.detectable_fraction), 0.016613, 2e-6);
  // n from (t(n-1; 0.995) + t(n-1; 0.8)) * 0.010690 / sqrt(n) <= log(1.005): 57 by SciPy 1.16.3.
  EXPECT_EQ(*d.pairs_needed, 57U);
  EXPECT_THAT(*gate_refusal(d, rule), HasSubstr("a gate needs 57 pairs"));
  EXPECT_FALSE(gate_refusal(decide_pairs(pairs_of(kSlowerPairs), {}), {}))
      << "a difference that was found is a verdict";
  EXPECT_FALSE(decide_pairs(pairs_of(kSlowerPairs), {}).pairs_needed);
}

TEST(PairedDecision, RefusesInvalidPairsAndRules) {
  EXPECT_THROW(decide_pairs({{.a = 0, .b = 1}}, {}), std::invalid_argument);
  EXPECT_THROW(decide_pairs({{.a = 1, .b = -1}}, {}), std::invalid_argument);
  EXPECT_THROW(decide_pairs({}, {.looks = {8, 4}}), std::invalid_argument);
  EXPECT_THROW(decide_pairs({}, {.looks = {}}), std::invalid_argument);
  EXPECT_THROW(decide_pairs({}, {.direction = spec::Direction::neutral}), std::invalid_argument);
}

TEST(FalseDiscoveries, DecisionsThatDoNotSurviveAmongAllAreTakenBack) {
  const auto strong = decide_pairs(pairs_of(kSlowerPairs), {});
  auto weak_pairs = kSlowerPairs;
  for (std::size_t i = 0; i < weak_pairs.size(); i += 2) weak_pairs[i] += 0.14;
  auto weak = decide_pairs(pairs_of(weak_pairs), {});
  ASSERT_EQ(weak.decision.verdict, Verdict::regressed);
  ASSERT_GT(*weak.decision.p, 0.001);
  auto kept = strong;
  std::vector<PairedDecision> nothing(18, decide_pairs(pairs_of(std::vector<double>(8, 0.0)), {}));
  std::vector<Decision*> all{&kept.decision, &weak.decision};
  for (auto& d : nothing) all.push_back(&d.decision);
  EXPECT_EQ(control_false_discoveries(all, 0.01), std::vector<Decision*>{&weak.decision});
  ask_for_later_look(weak);
  EXPECT_EQ(kept.decision.verdict, Verdict::regressed);
  EXPECT_EQ(weak.decision.verdict, Verdict::inconclusive);
  EXPECT_EQ(weak.decision.reason, VerdictReason::false_discovery);
  EXPECT_EQ(weak.next_look, 16U) << "more pairs may settle it";
  EXPECT_FALSE(weak.final);
  EXPECT_EQ(nothing.front().decision.verdict, Verdict::same);
}

// The whole procedure, over all looks, on pairs without a difference. At a true rate of 0.01, 1500 trials give at most
// 15 + 3.1 * sqrt(15) = 27 wrong verdicts in 99.9 % of cases. If each look used the whole error rate, there would be
// 37.
TEST(PairedDecisionSimulation, KeepsItsErrorRateOverAllLooks) {
  std::mt19937_64 engine(11);
  int wrong = 0;
  for (int i = 0; i < 1500; ++i) {
    const auto all = noisy_pairs(engine, 16, 1.0, 0.05);
    PairedDecision d;
    for (std::size_t n = 4; n != 0 && !d.final; n = d.next_look) {
      d = decide_pairs({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)}, {});
    }
    wrong += d.decision.verdict == Verdict::regressed || d.decision.verdict == Verdict::improved;
  }
  EXPECT_LE(wrong, 27);
  EXPECT_GE(wrong, 3) << "the test would be without power";
}

}  // namespace
}  // namespace perfbench::harness
