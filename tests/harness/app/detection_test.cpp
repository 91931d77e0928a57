#include "harness/app/pairs/detection.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/pairs/ab_run.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "tests/harness/pairs/made_up_runs.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

AbCell cell_in_turns(const std::string& label) {
  auto cell = made_up_cell(label);
  cell.in_turns = true;
  cell.a.run_id = run_id(cell.a.run);
  cell.b.run_id = run_id(cell.b.run);
  return cell;
}

const Pilot kPilot{.turn_deviation = 0.1, .start_s = 3, .turn_s = 0.2, .warmup_steps = 2};

TEST(Detection, SetsTheStepsOfBothSidesAndSaysThePlan) {
  std::vector<AbCell> cells{cell_in_turns("one")};
  const auto before = cells[0].a.run_id;
  const auto pairs = apply_pilots(cells, {kPilot}, {.fraction = 0.02, .within_s = 600}, 10);
  EXPECT_FALSE(cells[0].not_planned);
  const auto plan = plan_detection({kPilot}, 0.02);
  EXPECT_EQ(pairs, plan.pairs);
  EXPECT_EQ(cells[0].a.run.steps, static_cast<std::int64_t>(plan.turns[0] + 2)) << "and the warm-up";
  EXPECT_EQ(cells[0].b.run.steps, cells[0].a.run.steps);
  EXPECT_NE(cells[0].a.run_id, before);
  EXPECT_THAT(cells[0].plan, HasSubstr("--detect 2.0 %: at most "));
}

TEST(Detection, RefusesAPlanThatExceedsTheTimeAndNamesTheMinutes) {
  std::vector<AbCell> cells{cell_in_turns("one"), cell_in_turns("two")};
  const auto cost_s = plan_detection({kPilot, kPilot}, 0.02).cost_s[0];
  apply_pilots(cells, {kPilot, kPilot}, {.fraction = 0.02, .within_s = cost_s + 20}, 10);
  EXPECT_FALSE(cells[0].not_planned) << "the first one fits";
  ASSERT_TRUE(cells[1].not_planned);
  EXPECT_THAT(*cells[1].not_planned, HasSubstr(fmt::format("takes {:.1f} minutes here", cost_s / 60)));
  EXPECT_THAT(*cells[1].not_planned, HasSubstr("leaves 0.2 minutes"));
  // Nothing of this cell runs, and it does not pass.
  const auto result = run_pairs({cells[1]}, made_up_rule(8), 1, {});
  ASSERT_TRUE(result.cells[0].whole);
  EXPECT_EQ(result.cells[0].whole->reason, VerdictReason::not_planned);
  EXPECT_EQ(overall(verdicts_of(result.cells)), Verdict::inconclusive);
  EXPECT_THAT(gate_refusals(result.cells, made_up_rule(8)), testing::SizeIs(1));
}

TEST(Detection, WithoutALimitRunsForAnyTime) {
  std::vector<AbCell> cells{cell_in_turns("one")};
  auto slow = kPilot;
  slow.turn_s = 100;
  apply_pilots(cells, {slow}, {.fraction = 0.02}, 10);
  EXPECT_FALSE(cells[0].not_planned);
}

TEST(Detection, ACellWhosePilotFailedKeepsItsSteps) {
  std::vector<AbCell> cells{cell_in_turns("fails"), cell_in_turns("runs")};
  const auto steps = cells[0].a.run.steps;
  apply_pilots(cells, {std::nullopt, kPilot}, {.fraction = 0.02}, 10);
  EXPECT_EQ(cells[0].a.run.steps, steps);
  EXPECT_EQ(cells[0].plan, "");
  EXPECT_NE(cells[1].plan, "");
}

TEST(MorePairs, ShortPairsAreManyAndLongOnesAreNot) {
  AbOptions options{.more_pairs_within_s = 60};
  EXPECT_EQ(options.pairs_for(0.9), 64U);
  EXPECT_EQ(options.pairs_for(1), 32U) << "64 pairs would take 64 s";
  EXPECT_EQ(options.pairs_for(2), 16U);
  options.pairs = 40;
  EXPECT_EQ(options.pairs_for(0.1), 40U) << "80 are more than any comparison has";
  options.more_pairs_within_s = 0;
  options.pairs = 16;
  EXPECT_EQ(options.pairs_for(0.001), 16U);
}

TEST(DetectionRule, UsesTheDifferenceAsMarginAndLooksFromEightPairsOn) {
  AbOptions options{.detection = Detection{.fraction = 0.05}};
  auto rule = options.rule();
  ASSERT_EQ(rule.metrics.front().metric, "step_time_s");
  EXPECT_EQ(rule.metrics.front().margin_fraction, 0.05);
  EXPECT_EQ(rule.looks.front(), 8U);
  EXPECT_EQ(rule.looks.back(), 24U);
  EXPECT_GT(rule.futile_below, 0);
  for (const auto& metric : rule.metrics) {
    EXPECT_TRUE(metric.metric == "step_time_s" || metric.noise != spec::MetricNoise::measured) << metric.metric;
  }
  options.margins = {"step_time_s=0.01"};
  EXPECT_EQ(options.rule().metrics.front().margin_fraction, 0.01) << "unless one was given";
  options.margins = {};
  options.detection_judges = DetectionJudges::everything;
  EXPECT_GT(options.rule().metrics.size(), rule.metrics.size());
  options.metrics = {"startup_time_s"};
  EXPECT_THROW(options.rule(), InputError);
}

}  // namespace
}  // namespace perfbench::harness
