#include "harness/stats/detection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace perfbench::harness {
namespace {

using testing::ElementsAre;

// Turns whose log ratio deviates by `deviation`, after a first step of 1 s; the steps take 0.1 s, and the pair 3 s
// without them.
PilotPair pilot_pair(double deviation, double shift, std::uint64_t seed, std::size_t steps = 200) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, deviation);
  PilotPair out{.a_step_s = {1.0}, .b_step_s = {1.0}, .wall_s = 2 + 3};
  for (std::size_t i = 0; i < steps; ++i) {
    out.a_step_s.push_back(0.1);
    out.b_step_s.push_back(0.1 * std::exp(shift + noise(random)));
    out.wall_s += out.a_step_s.back() + out.b_step_s.back();
  }
  return out;
}

// 80 medians of five: the relative error of their deviation is 1 / sqrt(2 * 78), 8 %; three of those are 24 %.
TEST(Pilot, EstimatesTheDeviationOfATurnAndTheCostOfStartsAndTurns) {
  const auto pilot = read_pilot({pilot_pair(0.05, 0, 1), pilot_pair(0.05, 0, 2)});
  ASSERT_TRUE(pilot);
  EXPECT_NEAR(pilot->turn_deviation, 0.05, 0.012);
  EXPECT_NEAR(pilot->start_s, 3, 1e-9);
  EXPECT_NEAR(pilot->turn_s, 0.2, 0.005) << "without the warm-up";
  EXPECT_EQ(pilot->warmup_steps, 1U);
}

// The difference of the two runs, including that of a change, is the centre of each pair.
TEST(Pilot, ADifferenceOfTheSidesIsNotNoise) {
  const auto pilot = read_pilot({pilot_pair(0.05, 0.3, 1), pilot_pair(0.05, -0.3, 2)});
  EXPECT_NEAR(pilot->turn_deviation, 0.05, 0.012);
}

// A neighbour takes the cores of one side for ten turns in twenty: single turns lie 10 % apart, and so do medians of
// five, which would lie 6 % apart if turns were independent.
TEST(Pilot, SeesNoiseThatLastsForSomeTurns) {
  auto disturbed = pilot_pair(0.01, 0, 1);
  for (std::size_t i = 1; i < disturbed.b_step_s.size(); ++i) {
    if (i / 10 % 2 == 0) disturbed.b_step_s[i] *= std::exp(0.2);
  }
  // The deviation of levels 0 and 0.2 is 0.1, divided by 0.5355.
  EXPECT_NEAR(read_pilot({disturbed, disturbed})->turn_deviation, 0.1 / 0.5355, 0.01);
}

TEST(Pilot, RunsThatDidNotTakeTurnsHaveNone) {
  auto uneven = pilot_pair(0.05, 0, 1);
  uneven.b_step_s.pop_back();
  EXPECT_FALSE(read_pilot({uneven, pilot_pair(0.05, 0, 2)}));
  EXPECT_FALSE(read_pilot({}));
}

Pilot quiet(double turn_deviation, double start_s = 3, double turn_s = 0.2) {
  return {.turn_deviation = turn_deviation, .start_s = start_s, .turn_s = turn_s};
}

// By hand for 12 pairs: t(11; 0.995) = 3.1058 and t(11; 0.8) = 0.8755; 0.75 * log(1.02) / 3.9813 = 0.0037304. 12 *
// 0.0037304^2 = 1.6700e-4, less 0.0047^2 = 2.209e-5 leaves 1.4491e-4; pi / 2 * 0.1^2 / 1.4491e-4 = 108.4.
TEST(DetectionPlan, HasTheTurnsThatTheFormulaRequires) {
  const auto plan = plan_detection({quiet(0.1, 1e6)}, 0.02);
  EXPECT_EQ(plan.pairs, 12U) << "as few starts as may be, where they cost all";
  EXPECT_THAT(plan.turns, ElementsAre(109U));
  EXPECT_NEAR(plan.cost_s[0], 12 * (1e6 + 110 * 0.2), 1e-6);
}

TEST(DetectionPlan, TakesMorePairsWhereTheyCostLittle) {
  EXPECT_EQ(plan_detection({quiet(0.1, 0, 1)}, 0.02).pairs, 24U);
  EXPECT_EQ(plan_detection({quiet(0.001)}, 0.02).pairs, 12U);
}

TEST(DetectionPlan, ALargerDifferenceCostsLess) {
  const auto small = plan_detection({quiet(0.1)}, 0.02);
  const auto large = plan_detection({quiet(0.1)}, 0.05);
  EXPECT_LT(large.cost_s[0], small.cost_s[0]);
  EXPECT_GE(large.turns[0], 10U) << "a median takes some";
}

TEST(DetectionPlan, SaysWhereNoNumberOfTurnsIsEnough) {
  EXPECT_THAT(plan_detection({quiet(0.1), quiet(0.1)}, 0.003).turns, ElementsAre(0U, 0U))
      << "two process runs differ by more";
  auto limited = quiet(0.1);
  limited.most_turns = 30;
  const auto plan = plan_detection({limited, quiet(0.1)}, 0.02);
  EXPECT_EQ(plan.turns[0], 0U);
  EXPECT_EQ(plan.cost_s[0], 0);
  EXPECT_GT(plan.turns[1], 30U);
  limited.most_turns = 80;
  EXPECT_GT(plan_detection({limited}, 0.02).turns[0], 0U) << "more pairs of fewer turns";
}

TEST(DetectionLooks, BeginWithEightPairsAndComeEveryFour) {
  EXPECT_THAT(detection_looks(12), ElementsAre(8U, 12U));
  EXPECT_THAT(detection_looks(24), ElementsAre(8U, 12U, 16U, 20U, 24U));
}

}  // namespace
}  // namespace perfbench::harness
