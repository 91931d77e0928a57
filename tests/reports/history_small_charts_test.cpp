// The small charts of a history: common axes, so that a reader sees which series moved.
#include "reports/content/history_small_charts.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/content/history_charts.h"
#include "reports/content/history_document.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {
namespace {

using harness::ScreenedSeries;
using harness::ScreenState;

constexpr std::int64_t kDayInSeconds = 24 * 3600;

// A night a day from 2026-01-01 on, `ratio` times the level since night `since`.
ScreenedSeries nights_of(const std::string& cell, double level, std::size_t nights, std::size_t since = 99,
                         double ratio = 1) {
  constexpr std::int64_t kFirstOfJanuary = 1'767'225'600;
  ScreenedSeries out;
  out.series = {"llama", cell, "id", "step_time_s", "machine"};
  for (std::size_t i = 0; i < nights; ++i) {
    harness::NightPoint night;
    night.started_s = kFirstOfJanuary + static_cast<std::int64_t>(i) * kDayInSeconds;
    night.night = {.sweep_id = "s" + std::to_string(i),
                   .started_utc = fmt::format("2026-01-{:02}T00:00:00Z", i + 1),
                   .revision = "abc"};
    night.value = level * (i >= since ? ratio : 1);
    out.nights.push_back(night);
  }
  if (since < nights) {
    out.state = ScreenState::shifted;
    out.finding = harness::Finding{.kind = harness::FindingKind::regression};
    out.finding->series = out.series;
    out.finding->first_bad = out.nights[since].night;
    out.finding->ratio = ratio;
  }
  return out;
}

SmallCharts small_charts_of(const std::vector<ScreenedSeries>& all) {
  std::vector<const ScreenedSeries*> drawn;
  for (const auto& one : all) drawn.push_back(&one);
  return history_small_charts(drawn);
}

TEST(HistorySmallCharts, ShareTheirAxesWhateverTheirValuesAndNights) {
  const auto found = small_charts_of({nights_of("model=a", 1, 20), nights_of("model=b", 300, 5, 3, 1.1)});
  ASSERT_EQ(found.charts.size(), 2U);
  const auto& first = found.charts[0].chart;
  const auto& second = found.charts[1].chart;
  ASSERT_TRUE(first.y.range && second.y.range && first.x.range && second.x.range);
  EXPECT_EQ(first.y.range->low, second.y.range->low);
  EXPECT_EQ(first.y.range->high, second.y.range->high);
  EXPECT_EQ(first.x.range->low, second.x.range->low);
  EXPECT_EQ(first.x.range->high, second.x.range->high);
  EXPECT_GE(second.y.range->high, 10) << "the shift of 10 % is inside";
}

TEST(HistorySmallCharts, ShowTheChangeFromTheLevelBeforeTheShift) {
  const auto found = small_charts_of({nights_of("model=a", 0.02, 10, 6, 1.1), nights_of("model=b", 0.02, 10)});
  const auto& moved = found.charts[0];
  EXPECT_EQ(moved.value, "22.00 ms");
  EXPECT_EQ(moved.change, "+10.0 %");
  EXPECT_EQ(moved.tone, Tone::bad);
  const auto& points = moved.chart.series[0].points;
  EXPECT_NEAR(points[5].y, 0, 1e-9);
  EXPECT_NEAR(points[6].y, 10, 1e-9);
  ASSERT_EQ(moved.chart.spans.size(), 1U);
  EXPECT_EQ(moved.chart.spans[0].from, (points[5].x + points[6].x) / 2);
  EXPECT_EQ(found.charts[1].change, "+0.0 %");
  EXPECT_EQ(found.charts[1].tone, Tone::plain);
}

// The distance of the quartiles of these nights is 0, so a night more than 1 % away is far out.
TEST(HistorySmallCharts, ASingleNightFarOutDoesNotFlattenTheOthers) {
  auto series = nights_of("model=a", 1, 20);
  series.nights[10].value = 1.9;
  const auto found = small_charts_of({series, nights_of("model=b", 1, 20)});
  EXPECT_LE(found.charts[0].chart.y.range->high, 5);
  EXPECT_NEAR(found.charts[0].chart.series[0].points[10].y, 90, 1e-9) << "it stays, as an arrow";
}

TEST(HistorySmallCharts, AShiftOfManyTimesIsCutAtTheLargestRange) {
  const auto found = small_charts_of({nights_of("model=a", 1, 20, 15, 4), nights_of("model=b", 1, 20)});
  EXPECT_LE(found.charts[0].chart.y.range->high, 50);
}

TEST(HistorySmallCharts, ASeriesOfOneNightHasNoChange) {
  const auto found = small_charts_of({nights_of("model=a", 1, 1), nights_of("model=b", 1, 20)});
  EXPECT_EQ(found.charts[0].change, "one night");
}

std::string page_of(std::vector<ScreenedSeries> all) {
  auto result = std::make_shared<harness::HistoryResult>();
  result->metric = "step_time_s";
  result->series = std::move(all);
  return render_html(history_document(result));
}

TEST(HistorySmallCharts, LeadToALargeChartOfThePage) {
  const auto steady = nights_of("model=a", 1, 20);
  const auto moved = nights_of("model=b", 1, 20, 15, 1.2);
  const auto found = small_charts_of({moved, steady});
  EXPECT_EQ(found.charts[0].opens, series_chart(moved, "step_time_s").key);
  const auto page = page_of({steady, moved});
  EXPECT_NE(page.find("small_charts"), std::string::npos);
  for (const auto& one : found.charts) {
    EXPECT_NE(page.find("\"key\":\"" + one.opens + "\""), std::string::npos) << one.opens;
  }
  // Those that shifted come first.
  EXPECT_LT(page.find("\"opens\":\"" + found.charts[0].opens), page.find("\"opens\":\"" + found.charts[1].opens));
}

TEST(HistoryDocument, HasTheDateOfTheNewestNight) {
  const auto page = page_of({nights_of("model=a", 1, 20), nights_of("model=b", 1, 21), nights_of("model=c", 1, 3)});
  EXPECT_NE(page.find(R"([["Date","2026-01-21T00:00:00Z"]])"), std::string::npos);
  EXPECT_EQ(page_of({}).find(R"("Date")"), std::string::npos);
}

TEST(HistorySmallCharts, AreLeftOutForASingleSeries) {
  EXPECT_EQ(page_of({nights_of("model=a", 1, 20)}).find("\"small_charts\""), std::string::npos);
}

}  // namespace
}  // namespace perfbench::reports
