// The charts of a run's steps: the phases of each rank, and the percentiles of steady steps.
#include "reports/content/run_charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace perfbench::reports {
namespace {

using spec::StepRecord;
using testing::ElementsAre;

constexpr std::int64_t kMillisecond = 1'000'000;

// Steps of 10 ms, or of the given length, which are forward for a quarter and backward for the rest.
StepRecord step_of(std::int64_t rank, std::int64_t number, std::int64_t wall_ns = 10 * kMillisecond) {
  StepRecord out{.rank = rank, .step = number, .wall_ns = wall_ns};
  out.forward_ns = wall_ns / 4;
  out.backward_ns = wall_ns - out.forward_ns;
  return out;
}

std::vector<StepRecord> steps_of(std::int64_t ranks, std::int64_t count) {
  std::vector<StepRecord> out;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::int64_t i = 0; i < count; ++i) out.push_back(step_of(rank, i, (10 + 2 * rank) * kMillisecond));
  }
  return out;
}

Chart chart_of(const std::vector<StepRecord>& steps, const std::string& key) {
  const auto charts = run_charts(steps);
  const auto found = std::ranges::find(charts, key, &Chart::key);
  return found == charts.end() ? Chart{} : *found;
}

std::vector<std::string> names(const Chart& chart) {
  std::vector<std::string> out;
  for (const auto& series : chart.series) out.push_back(series.name);
  return out;
}

TEST(RunCharts, ThePhasesOfAStepAreOneBarWithTheirShares) {
  const auto phases = chart_of(steps_of(1, 20), "phases");
  EXPECT_THAT(names(phases), ElementsAre("backward 7.500 ms, 75.0 %", "forward 2.500 ms, 25.0 %"));
  EXPECT_THAT(phases.x.categories, ElementsAre("rank 0"));
  EXPECT_EQ(phases.series[0].marks, Marks::stacked);
}

TEST(RunCharts, EachRankHasABarOfItsPhases) {
  const auto phases = chart_of(steps_of(2, 20), "phases");
  EXPECT_THAT(names(phases), ElementsAre("backward", "forward"));
  EXPECT_THAT(phases.x.categories, ElementsAre("rank 0", "rank 1"));
  ASSERT_EQ(phases.series[1].points.size(), 2U);
  EXPECT_DOUBLE_EQ(phases.series[1].points[1].y, 3) << "a quarter of 12 ms";
  EXPECT_EQ(phases.series[1].points[1].label, "3 ms, 25.0 %");
}

// The rank for which all others wait must be among those that are drawn.
TEST(RunCharts, TheRanksThatWaitLeastAreDrawn) {
  auto steps = steps_of(20, 4);
  for (auto& step : steps) {
    step.wall_ns = 50 * kMillisecond;
    step.exposed_comm_ns = step.rank == 13 ? 0 : 20 * kMillisecond;
  }
  const auto phases = chart_of(steps, "phases");
  EXPECT_EQ(phases.x.categories.size(), 8U);
  EXPECT_THAT(phases.x.categories, testing::Contains("rank 13"));
  EXPECT_THAT(phases.title, testing::HasSubstr("the 8 of 20 ranks that wait least"));
}

// Five of 50 steps lie above p90, and five of 500 above p99.
TEST(RunCharts, APercentileNeedsFiveStepsAboveIt) {
  EXPECT_THAT(names(chart_of(steps_of(1, 40), "step_times")), ElementsAre("time", "p50 10 ms"));
  EXPECT_THAT(names(chart_of(steps_of(1, 60), "step_times")), ElementsAre("time", "p50 10 ms", "p90 10 ms"));
  auto steps = steps_of(1, 800);
  for (std::size_t i = 300; i < 330; ++i) steps[i] = step_of(0, static_cast<std::int64_t>(i), 40 * kMillisecond);
  const auto times = chart_of(steps, "step_times");
  ASSERT_EQ(times.series.size(), 4U);
  EXPECT_EQ(times.series[3].name, "p99 40 ms");
  EXPECT_DOUBLE_EQ(times.series[3].points[0].y, 40);
}

// A program's steps have a length only.
TEST(RunCharts, StepsWithoutPhasesHaveNoBar) {
  std::vector<StepRecord> steps;
  for (std::int64_t i = 0; i < 20; ++i) steps.push_back({.step = i, .wall_ns = kMillisecond});
  EXPECT_EQ(chart_of(steps, "phases").key, "");
  EXPECT_EQ(chart_of(steps, "step_times").key, "step_times");
}

}  // namespace
}  // namespace perfbench::reports
