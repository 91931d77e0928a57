// The screen of a night, from nights that the tests write: no engine runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/app/night/night.h"
#include "harness/store/attempts/ingest.h"
#include "harness/system/utc.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string night_id(int night) {
  return "night" + std::to_string(night);
}

class ScreenNight : public testing::Test {
 protected:
  static constexpr const char* kMatrix = "nightly";

  // Writes a cell that takes 0.5 s times exp(log_level(night)) a step on nights 0, 1, ..., last.
  void write_nights(int last, const std::function<double(int)>& log_level) {
    const std::chrono::sys_days first = std::chrono::year_month_day(std::chrono::year(2025) / 1 / 1);
    for (int night = 0; night <= last; ++night) {
      ExampleRun example{.attempt = example_attempt("c", 1)};
      example.attempt.matrix = kMatrix;
      example.attempt.sweep_id = night_id(night);
      example.attempt.sweep_kind = SweepKind::night;
      example.attempt.started_utc = on_day("2025-01-01T02:00:00Z", first + std::chrono::days(night));
      example.step_s.assign(6, 0.5 * std::exp(log_level(night)));
      write_run_directory(scratch_ / "runs" / night_id(night), example);
    }
    auto db = open_database(scratch_ / "q.db");
    ASSERT_THAT(ingest_tree(db, scratch_ / "runs").problems, IsEmpty());
  }
  Screened screen_of(int night, const ScreenBudget& budget = {}) {
    Night tonight(options(budget), installation_, interruption_);
    tonight.sweep_id = night_id(night);
    return screen(tonight, {.matrix = kMatrix});
  }
  // The night has no pairs.
  NightReport report_of(int night, Screened screened) {
    Night tonight(options({}), installation_, interruption_);
    tonight.sweep_id = night_id(night);
    return raise_alerts(tonight, {.matrix = kMatrix}, std::move(screened), {},
                        [](const AlertGroup&) { return std::string(); });
  }

 private:
  NightOptions options(const ScreenBudget& budget) const { return {.ab = {.db = scratch_ / "q.db"}, .budget = budget}; }

  ScratchFolder scratch_;
  Installation installation_{.engine = "/nonexistent/engine"};
  Interruption interruption_;
};

// The same noise in every test and on every machine.
std::vector<double> normal_values(std::size_t count) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> out(count);
  for (auto& value : out) value = normal(random);
  return out;
}

const Finding& step_time_of(const std::vector<Finding>& series) {
  const auto found = std::find_if(series.begin(), series.end(),
                                  [](const Finding& finding) { return finding.series.metric == "step_time_s"; });
  if (found == series.end()) throw std::runtime_error("no series of step_time_s");
  return *found;
}

// The median and the mean of its steps shift together.
TEST_F(ScreenNight, ASlowdownOfEveryStepIsOneFinding) {
  const auto noise = normal_values(30);
  write_nights(29, [&](int night) { return 0.003 * noise[static_cast<std::size_t>(night)] + (night > 26 ? 0.2 : 0); });
  const auto screened = screen_of(29);
  ASSERT_THAT(screened.findings, SizeIs(1));
  const auto& finding = screened.findings.front();
  EXPECT_EQ(finding.series.metric, "step_time_s");
  EXPECT_EQ(finding.last_good.sweep_id, night_id(26));
  EXPECT_EQ(finding.first_bad.sweep_id, night_id(27));
  ASSERT_THAT(screened.shifted, SizeIs(1));
  EXPECT_EQ(screened.shifted.front().metric, "step_time_s");
  EXPECT_EQ(screened.lasting.at({"c", "step_time_s"}), "seen on 3 nights");
  ASSERT_THAT(screened.cells, SizeIs(1));
  EXPECT_EQ(screened.cells.front().metrics, screened.measured.size());
  EXPECT_THAT(screened.unscreened, IsEmpty());
}

TEST_F(ScreenNight, SeriesWithTooFewNightsGetTheLastNightAsTheirGoodOne) {
  write_nights(3, [](int) { return 0; });
  const auto screened = screen_of(3);
  EXPECT_EQ(screened.too_few_nights, screened.series);
  ASSERT_THAT(screened.unscreened, Not(IsEmpty()));
  for (const auto& series : screened.unscreened) EXPECT_EQ(series.last_good.sweep_id, night_id(2));
}

// Pairs of two nights of a creep differ by too little.
TEST_F(ScreenNight, ACreepIsAskedAboutSinceItsBeginning) {
  const auto noise = normal_values(80);
  write_nights(
      79, [&](int night) { return 0.0005 * noise[static_cast<std::size_t>(night)] + 0.005 * std::max(0, night - 60); });
  const auto screened = screen_of(79);
  EXPECT_EQ(step_time_of(screened.measured).last_good.sweep_id, night_id(60));
  EXPECT_EQ(step_time_of(screened.findings).last_good.sweep_id, night_id(60));
}

TEST_F(ScreenNight, ASeriesThatScattersMoreThanBeforeIsAFindingWithoutPairs) {
  const auto noise = normal_values(150);
  write_nights(149, [&](int night) { return (night < 120 ? 0.002 : 0.02) * noise[static_cast<std::size_t>(night)]; });
  EXPECT_FALSE(screen_of(119).noisier);
  const auto screened = screen_of(149);
  ASSERT_TRUE(screened.noisier);
  EXPECT_EQ(screened.noisier->kind, FindingKind::noisier);
  EXPECT_EQ(screened.noisier->series.cell, "c");
  const auto report = report_of(149, screened);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings.front().finding.kind, FindingKind::noisier);
  EXPECT_EQ(report.findings.front().confirmation, Confirmation::not_needed);
  EXPECT_THAT(report.live_alerts, IsEmpty());
}

// The score of this shift is 4.0. The thresholds are 3.3 and 4.3.
TEST_F(ScreenNight, ASmallerBudgetNeedsALargerShift) {
  const auto noise = normal_values(60);
  write_nights(59,
               [&](int night) { return 0.003 * noise[static_cast<std::size_t>(night)] + (night > 57 ? 0.009 : 0); });
  EXPECT_THAT(screen_of(59, {.screens_per_night = 0.2}).findings, SizeIs(1));
  EXPECT_THAT(screen_of(59, {.screens_per_night = 0.001}).findings, IsEmpty());
}

}  // namespace
}  // namespace perfbench::harness
