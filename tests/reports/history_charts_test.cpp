// The nights of a series as charts: as they were measured, and as the screen saw them.
#include "reports/content/history_charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace perfbench::reports {
namespace {

using harness::ScreenedSeries;
using testing::SizeIs;

// Alternate nights of 1 s and 1.01 s; a tenth more from `first_bad` on.
ScreenedSeries series_of(std::size_t nights, std::size_t first_bad) {
  ScreenedSeries out;
  out.series = {"llama", "model=a", "id", "step_time_s", "machine"};
  for (std::size_t i = 0; i < nights; ++i) {
    harness::NightPoint night;
    night.night = {
        .sweep_id = "s" + std::to_string(i), .started_utc = "2026-01-01", .revision = "abc" + std::to_string(i)};
    night.value = (i % 2 == 0 ? 1.0 : 1.01) * (i >= first_bad ? 1.1 : 1.0);
    out.nights.push_back(night);
    const double log = std::log(night.value);
    out.screened.push_back({.night = i, .log = log, .leveled = log});
  }
  return out;
}

TEST(HistoryCharts, NameTheCommitOfEachNight) {
  const auto chart = series_chart(series_of(3, 9), "step_time_s");
  EXPECT_EQ(chart.key, "series_step_time_s llama model=a machine");
  EXPECT_EQ(chart.series[0].points[1].label, "2026-01-01, commit abc1");
  EXPECT_THAT(chart.series, SizeIs(1));
}

TEST(HistoryCharts, HaveTheDatesOfNightsAlongTheAxisAndAUnitThatSuitsTheValues) {
  auto series = series_of(3, 9);
  for (auto& night : series.nights) night.value *= 0.02;
  const auto chart = series_chart(series, "step_time_s");
  EXPECT_THAT(chart.x.categories, testing::ElementsAre("2026-01-01", "2026-01-01", "2026-01-01"));
  EXPECT_EQ(chart.y.title, "step_time_s (ms)");
  EXPECT_NEAR(chart.series[0].points[2].y, 1000 * series.nights[2].value, 1e-9);
}

TEST(HistoryCharts, DrawTheValuesOfTheScreenMinusTheControl) {
  auto series = series_of(3, 9);
  series.control = true;
  series.screened = {{.night = 0, .log = std::log(0.9)}, {.night = 2, .log = std::log(0.8)}};
  const auto chart = series_chart(series, "step_time_s");
  ASSERT_THAT(chart.series, SizeIs(2));
  EXPECT_EQ(chart.series[1].marks, Marks::ideal);
  ASSERT_THAT(chart.series[1].points, SizeIs(2));
  EXPECT_EQ(chart.series[1].points[1].x, 2);
  EXPECT_NEAR(chart.series[1].points[1].y, 0.8, 1e-12);
}

// A known shift has no score: the nights before it are scored on the present level.
TEST(HistoryCharts, ScoreNightsOnTheLevelOfTheNewestKnownShift) {
  auto series = series_of(40, 36);
  const auto level = series_of(40, 99);
  for (std::size_t i = 0; i < 40; ++i) series.screened[i].leveled = level.screened[i].log;
  EXPECT_EQ(shift_score(series), shift_score(level));
}

TEST(HistoryCharts, ShadeTheNightsOnWhichTheMachineChanged) {
  auto series = series_of(4, 9);
  series.changes.push_back(
      {.night = series.nights[2].night, .of = harness::ChangeOf::other_facts, .facts = {{"kernel", "6.1", "6.5"}}});
  const auto chart = series_chart(series, "step_time_s");
  ASSERT_THAT(chart.spans, SizeIs(1));
  EXPECT_EQ(chart.spans[0].from, 1.5);
  EXPECT_EQ(chart.spans[0].to, 2.5);
  EXPECT_THAT(chart.spans[0].name, testing::HasSubstr("kernel 6.1 -> 6.5"));
}

// Twelve nights precede the first score (ScreenRule::fewest_before); a step that every night shows has a high score.
TEST(HistoryCharts, ScoreEachNightAsItWasThen) {
  const auto quiet = score_chart(series_of(40, 99)).series[0].points;
  ASSERT_THAT(quiet, SizeIs(28));
  EXPECT_EQ(quiet.front().x, 12);
  const auto shifted = score_chart(series_of(40, 36)).series[0].points;
  for (std::size_t i = 0; i < 23; ++i) EXPECT_EQ(shifted[i].y, quiet[i].y) << "earlier nights do not show it";
  EXPECT_GT(shifted.back().y, 3 * quiet.back().y);
  EXPECT_EQ(shift_score(series_of(40, 36)), shifted.back().y);
  EXPECT_EQ(shift_score(series_of(12, 99)), std::nullopt);
}

TEST(HistoryCharts, DrawTheThresholdOfAShiftThatPassedIt) {
  auto series = series_of(40, 36);
  series.shift = harness::ScreenFinding{.score = *shift_score(series), .threshold = 4.5};
  const auto chart = score_chart(series);
  ASSERT_THAT(chart.series, SizeIs(2));
  EXPECT_EQ(chart.series[1].points[0].y, 4.5);
  series.shift->score = 99;  // for a single night, in other units
  EXPECT_THAT(score_chart(series).series, SizeIs(1));
}

}  // namespace
}  // namespace perfbench::reports
