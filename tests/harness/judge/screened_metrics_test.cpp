// Which metrics a night screens, by which thresholds, and what it calls the last good night of a creep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/screening.h"
#include "tests/harness/example_series.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

Tonight measured_tonight(int cells, int crashed) {
  Tonight out;
  for (int cell = 0; cell < cells + crashed; ++cell) {
    out.cells.push_back({"nightly", std::to_string(cell), cell < cells ? "ok" : "crashed", ""});
  }
  return out;
}

// Three of the metrics have noise of their own. --series and --metric do not change what the budget is shared by.
TEST(ScreenSeries, MeasuredCellsAndMetricsWithNoiseShareTheBudget) {
  const auto rate = [](int cells, int crashed, const char* metric) {
    return rules_within({}, measured_tonight(cells, crashed), metric).at("nightly").screens_per_year;
  };
  EXPECT_EQ(rate(100, 20, "startup_time_s"), rule_within({}, 300).screens_per_year);
  EXPECT_EQ(rate(12, 50, "startup_time_s"), ScreenRule{}.screens_per_year);
  EXPECT_LE(rate(12, 0, "step_time_s") + rate(12, 0, "step_time_mean_s"), ScreenRule{}.screens_per_year)
      << "the two step times share the screens of one metric";
  EXPECT_EQ(rate(12, 0, "tokens_per_s"), ScreenRule{}.screens_per_year) << "only --metric asks for it";
}

TEST(ScreenSeries, ASeriesOfALargeMatrixNeedsALargerShift) {
  const auto rules = rules_within({}, measured_tonight(200, 0), "startup_time_s");
  const auto smallest_found = [](const ScreenRules& given) {
    for (int tenths = 1; tenths < 100; ++tenths) {
      auto series = example_series("c", 134, 1, 0.01, 3);
      multiply_from(series, 127, 1 + 0.001 * tenths);
      if (screen_series({series}, {}, given)[0].state == ScreenState::shifted) return tenths;
    }
    return 100;
  };
  EXPECT_GE(smallest_found(rules), smallest_found({}) + 2);
}

// Three times as much in the last 34 nights.
TEST(ScreenSeries, SaysWhichSeriesScatterMoreThanBefore) {
  auto noisy = example_series("noisy", 134);
  const auto later = example_series("noisy", 134, 1, 0.03, 5);
  for (std::size_t i = 100; i < 134; ++i) noisy.nights[i].value = later.nights[i].value;
  const auto screened = screen_series({example_series("calm", 134, 1, 0.01, 2), noisy});
  EXPECT_FALSE(screened[0].noisier);
  ASSERT_TRUE(screened[1].noisier);
  EXPECT_NEAR(screened[1].noisier->ratio, 3, 1);
  const auto one = noisier_finding(screened);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->series.cell, "noisy");
  EXPECT_EQ(one->ratio, screened[1].noisier->ratio);
  EXPECT_THAT(one->detail, HasSubstr("this series scatters"));
  EXPECT_THAT(noisier_finding({screened[1], screened[0], screened[1]})->detail, HasSubstr("2 series scatter"));
  EXPECT_FALSE(noisier_finding({screened[0]}));
}

// Every third step is three times as slow from night 87 on: the median step does not see it.
TEST(ScreenSeries, AStallShowsInTheMeanStep) {
  auto mean = example_series("c", 90);
  mean.metric = "step_time_mean_s";
  multiply_from(mean, 87, 1.67);
  const auto found = screen_series({mean}, {}, rules_within({}, measured_tonight(1, 0), mean.metric));
  ASSERT_TRUE(found[0].finding.has_value());
  EXPECT_EQ(found[0].finding->kind, FindingKind::regression);
}

// Without it each regression would be found twice, and compared every night until its nights fill the reference.
TEST(ScreenSeries, AKnownShiftOfTheMedianStepIsKnownOfTheMean) {
  auto mean = example_series("c", 90);
  mean.metric = "step_time_mean_s";
  multiply_from(mean, 80, 1.1);
  ASSERT_EQ(screen_series({mean})[0].state, ScreenState::shifted);
  auto median = screen_series({mean})[0].series;
  median.metric = "step_time_s";
  const std::vector<KnownShift> known{{.series = median, .first_utc = mean.nights[80].night.started_utc, .live = true}};
  EXPECT_EQ(screen_series({mean}, known)[0].state, ScreenState::steady);
  auto startup = mean;
  startup.metric = "startup_time_s";
  EXPECT_EQ(screen_series({startup}, known)[0].state, ScreenState::shifted) << "a metric of its own";
}

// 0.2 % a night for 30 nights. The night before the shift that fits best has most of it already.
TEST(ScreenSeries, ACreepsLastGoodNightIsTheOneBeforeItBegan) {
  auto series = example_series("c", 90);
  for (std::size_t i = 60; i < 90; ++i) multiply_from(series, i, 1.002);
  const auto screened = screen_series({series});
  ASSERT_TRUE(screened[0].finding.has_value());
  const auto& finding = *screened[0].finding;
  EXPECT_EQ(finding.kind, FindingKind::regression);
  EXPECT_GE(finding.last_good.started_utc, "2026-1052");
  EXPECT_LE(finding.last_good.started_utc, "2026-1066");
  EXPECT_GT(finding.first_bad.started_utc, "2026-1070");
  EXPECT_THAT(finding.detail, HasSubstr("it creeps by +0.2 % a night since " + finding.last_good.started_utc));
}

}  // namespace
}  // namespace perfbench::harness
