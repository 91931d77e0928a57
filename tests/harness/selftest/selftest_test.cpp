#include "harness/selftest/selftest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "harness/selftest/after_shift.h"
#include "harness/selftest/budget_rates.h"
#include "harness/selftest/creep_rates.h"
#include "harness/selftest/detection_rates.h"
#include "harness/selftest/live_alerts.h"
#include "harness/selftest/noise_change_rates.h"
#include "harness/selftest/pair_rates.h"
#include "harness/selftest/screen_rates.h"
#include "harness/selftest/series_export.h"
#include "harness/selftest/session_rates.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/statistics.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/selftest_ledger.h"
#include "reports/content/selftest_document.h"
#include "reports/render/document/render.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

std::vector<double> draw(NoiseKind kind, std::size_t count) {
  Noise noise(kind, series_random(3, kind, 0, 0));
  std::vector<double> out(count);
  for (auto& x : out) x = noise.next();
  return out;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

double product(const std::vector<double>& x, std::size_t lag) {
  double sum = 0;
  for (auto i = lag; i < x.size(); ++i) sum += x[i] * x[i - lag];
  return sum / static_cast<double>(x.size() - lag);
}

// 200000 values: the tolerance of a mean is 3 / sqrt(2e5) = 0.007 for independent values and twice that for AR(1) 0.6;
// that of a variance is 3 * sqrt((kurtosis - 1) / 2e5), 0.05 for the skewed ones (kurtosis 34, which converges slowly:
// allow 0.1).
TEST(Noise, HasMeanZeroAndDeviationOne) {
  for (const auto kind : kNoiseKinds) {
    if (kind == NoiseKind::drifting) continue;
    const auto x = draw(kind, 200000);
    EXPECT_NEAR(mean(x), 0, 0.015) << spec::enum_name(kind);
    EXPECT_NEAR(product(x, 0), 1, 0.1) << spec::enum_name(kind);
  }
}

TEST(Noise, IsOfItsKind) {
  EXPECT_NEAR(product(draw(NoiseKind::ar1_03, 200000), 1), 0.3, 0.015);
  EXPECT_NEAR(product(draw(NoiseKind::ar1_06, 200000), 2), 0.36, 0.015);
  EXPECT_LT(median(draw(NoiseKind::skewed, 10000)), -0.15);
  const auto spiky = draw(NoiseKind::spiky, 20000);
  const auto high = std::count_if(spiky.begin(), spiky.end(), [](double x) { return x > 2; });
  EXPECT_NEAR(static_cast<double>(high) / 20000, 0.05, 0.005);
  // A level that walks by 0.1 a night is on average 10 times that away after 100 nights: differences 100 nights apart
  // have the variance 2 + 100 * 0.01.
  const auto drifting = draw(NoiseKind::drifting, 200000);
  double far = 0;
  for (std::size_t i = 100; i < drifting.size(); ++i) far += std::pow(drifting[i] - drifting[i - 100], 2);
  EXPECT_NEAR(far / 199900, 3, 0.15);
}

TEST(PairRates, DependOnlyOnTheSeed) {
  const PairScenario scenario{.ratio = 1.02, .rule = {.looks = {4, 8}}};
  const auto a = simulate_pairs(scenario, 300, 1);
  EXPECT_EQ(a.regressed.value, simulate_pairs(scenario, 300, 1).regressed.value);
  EXPECT_EQ(a.mean_pairs, simulate_pairs(scenario, 300, 1).mean_pairs);
  EXPECT_NE(a.mean_pairs, simulate_pairs(scenario, 300, 2).mean_pairs);
}

// Power of the test of 8 and 8 runs at 0.01 where an F test at 0.05 pools all runs, and otherwise of the paired t test
// with all eight signs equal, by a simulation with NumPy and SciPy of 100000 trials: 0.824 at 2 %, 0.995 at 3 %. 2000
// trials: three standard errors are 0.026 and 0.005. Deciding SAME first, at four pairs, costs 0.02 of the first.
TEST(PairRates, HaveThePowerOfAnIndependentSimulation) {
  const auto power = [](double ratio) {
    return simulate_pairs({.ratio = ratio, .rule = {.looks = {4, 8}}}, 2000, 5).regressed.value;
  };
  EXPECT_NEAR(power(1.02), 0.814, 0.036);
  EXPECT_NEAR(power(1.03), 0.995, 0.006);
}

// The median of 100 turns with 10 % noise a step, 0.33 % a run and 5 % common to the runs of a pair: the paired t test
// at 0.01 with all eight signs equal, by a simulation with NumPy and SciPy of 20000 trials: 0.633 at 3 %, 0.970 at 5 %.
// 2000 trials: three standard errors are 0.032 and 0.011; for the 20000 they are a third of that.
TEST(PairRates, InTurnsHaveThePowerOfAnIndependentSimulation) {
  const auto power = [](double ratio) {
    return simulate_pairs({.run_deviation = 0.01 / 3,
                           .turns = TurnNoise{.turns = 100, .step_deviation = 0.1, .speed_deviation = 0.05},
                           .ratio = ratio,
                           .rule = {.looks = {4, 8}}},
                          2000, 5)
        .regressed.value;
  };
  EXPECT_NEAR(power(1.03), 0.633, 0.034);
  EXPECT_NEAR(power(1.05), 0.970, 0.012);
}

TEST(PairRates, DriftStaysBelowTheLevelBecauseRunsArePaired) {
  const auto rates = simulate_pairs({.noise = NoiseKind::drifting, .rule = {.looks = {4, 8}}}, 3000, 6);
  EXPECT_LT(rates.named.high, 0.02);
  EXPECT_LT(rates.improved.value, 0.01);
}

TEST(SessionRates, UnknownSessionsNeverGiveAVerdict) {
  for (const double ratio : {1.0, 1.5}) {
    const auto rates = simulate_sessions({.session_per_run = 3, .nights = 0, .cells = 3, .ratio = ratio}, 100, 1);
    EXPECT_EQ(rates.false_in_any.value, 0);
    EXPECT_EQ(rates.same.value, 0);
  }
  EXPECT_EQ(simulate_sessions({.nights = 4, .ratio = 1.5}, 100, 1).regressed.value, 0) << "one too few";
  EXPECT_GT(simulate_sessions({.nights = 5, .ratio = 1.5}, 100, 1).regressed.value, 0.9);
}

// For any deviation of sessions, for a cell and for a matrix whose cells all shift together. The tolerance is the level
// and three standard errors at it: for 2000 trials 0.01 + 3 * sqrt(0.01 * 0.99 / 2000), and likewise for 1000.
TEST(SessionRates, UnchangedCellsStayAtTheLevel) {
  for (const double sessions : {0.0, 1.0, 6.0}) {
    EXPECT_LT(simulate_sessions({.session_per_run = sessions}, 2000, 7).false_in_any.value, 0.0167) << sessions;
  }
  for (const double sessions : {1.0, 6.0}) {
    EXPECT_LT(simulate_sessions({.session_per_run = sessions, .cells = 12}, 1000, 7).false_in_any.value, 0.0194)
        << sessions;
  }
}

// Days deviate by 2 %, sessions of a day by 0.25 %: the six sessions of one day say nothing about a day ten days later.
TEST(SessionRates, SessionsOfOneDayVouchForNoOtherDay) {
  SessionScenario scenario{
      .session_per_run = 0.25, .nights = 5, .sessions_a_day = 6, .days_to_last = 10, .day_per_run = 2};
  EXPECT_LT(simulate_sessions(scenario, 500, 7).false_in_any.value, 0.0234);  // three standard errors, as below
  scenario.sessions_a_day = 1;
  scenario.days_to_last = 1;
  EXPECT_LT(simulate_sessions(scenario, 500, 7).false_in_any.value, 0.0234);
  scenario.ratio = 1.5;
  EXPECT_GT(simulate_sessions(scenario, 500, 7).regressed.value, 0.9);
}

// Let b be the variance of sessions, w that of runs, and h = 0.2868 that of a median of five Gaussian values. The
// estimate from ten nights is (b + h w) chi2(9) / 9. So p < 0.01 means that a noncentral t of 9 degrees of freedom and
// noncentrality log(ratio) / sqrt(2 (b + w / 5)) exceeds t(0.995) sqrt((b + h w) / (b + w / 5)). By SciPy this has the
// probability 0.465 for 5 % if sessions deviate as runs do, and 0.805 for 20 % if they deviate by three times that.
// 2000 trials: three standard errors are 0.034 and 0.027.
TEST(SessionRates, HaveThePowerOfTheNoncentralT) {
  EXPECT_NEAR(simulate_sessions({.session_per_run = 1, .ratio = 1.05}, 2000, 5).regressed.value, 0.465, 0.034);
  EXPECT_NEAR(simulate_sessions({.session_per_run = 3, .ratio = 1.2}, 2000, 5).regressed.value, 0.805, 0.027);
}

TEST(RealTrials, CountVerdictsOfWholeComparisons) {
  const std::vector<Verdict> trials{Verdict::same, Verdict::regressed, Verdict::inconclusive, Verdict::improved};
  const auto aa = real_aa_rate(trials, 8, "in turns", 0.01);
  EXPECT_EQ(aa.value, 0.5);
  EXPECT_THAT(aa.measure, HasSubstr("4 comparisons of up to 8 pairs"));
  EXPECT_EQ(goal_met(aa), false);
  EXPECT_EQ(goal_met(real_aa_rate(std::vector<Verdict>(190, Verdict::same), 8, "apart", 0.01)), true);
  EXPECT_EQ(goal_met(real_aa_rate(std::vector<Verdict>(180, Verdict::same), 8, "apart", 0.01)), false)
      << "too few to know";
  EXPECT_EQ(real_power("slow", trials, 8, "in turns").value, 0.25);
}

// If the first shift is not removed from the nights before it, it hides the second one. At a rate of 0.9, 100 series
// give at least 0.9 - 3 * 0.03.
TEST(AfterShiftSimulation, ASecondShiftIsFoundOnceTheFirstIsKnown) {
  for (const auto& shifts : {TwoShifts{"-30 % +20 %", 0.7, 1.2, 40}, TwoShifts{"+3 % +3 %", 1.03, 1.03, 40},
                             TwoShifts{"-10 % reverted", 0.9, 1 / 0.9, 15}}) {
    EXPECT_GE(second_shift_found(shifts, FirstShift::accepted, 100, 3), 0.81) << shifts.name;
    EXPECT_LE(second_shift_found(shifts, FirstShift::ignored, 100, 3), 0.5) << shifts.name;
  }
}

// A regression that nobody repairs stays red, whatever the screen still reports about it.
TEST(LiveAlertSimulation, ANightIsGreenOnlyOnceSomebodyClosedItsAlert) {
  EXPECT_EQ(nights_that_say(Verdict::regressed, AlertState::open, 30).value, 1);
  EXPECT_EQ(nights_that_say(Verdict::inconclusive, AlertState::acknowledged, 30).value, 1);
  EXPECT_EQ(nights_that_say(Verdict::same, AlertState::wont_fix, 30).value, 1);
}

// At a rate of 0.95, 100 series give at least 0.95 - 3 * 0.022.
TEST(LiveAlertSimulation, ASecondRegressionBehindAnOpenAlertIsAnAlert) {
  EXPECT_GE(second_alerts(100, 3).value, 0.88);
}

TEST(BudgetSimulation, ALargeMatrixStartsAFewComparisonsAWeekAndNotSeveralANight) {
  EXPECT_GT(screens_a_night(ScreenRule{}, 3, 1).value, 2) << "two screens a year of each of 600 series are 3.3";
  // 0.2 a night are one screen in 2.7 cell-years: of more than five in 6 one in 30 simulations would tell.
  EXPECT_LT(screens_a_night(rule_within({}, kSeriesOfMatrix), 6, 1).value, 0.5);
}

// With the threshold of the nights before there are 8.3 screens in that year, with one that follows 4.2: the mean of
// four series-years has a deviation of about 1. At a rate of 0.73, 30 series give 0.73 - 3 * 0.08 at the least.
TEST(NoiseChangeSimulation, AThresholdThatFollowsStartsFewerComparisons) {
  EXPECT_LT(screens_after_doubled_noise(NoiseKind::gaussian, 4, 3).value, 7);
  EXPECT_GE(doubled_noise_found(NoiseKind::gaussian, 30, 3).value, 0.48);
}

// At a rate of 0.9, 60 series give 0.9 - 3 * 0.04 at the least.
TEST(CreepSimulation, HasALastGoodNightFarEnoughBackForPairs) {
  EXPECT_GE(creeps_found(NoiseKind::gaussian, 60, 3).value, 0.78);
  EXPECT_LE(steps_called_creeps(NoiseKind::gaussian, 30, 3).value, 0.05);
}

// With 60 trials at an error rate of at most 1 %, more than three errors have a probability of 0.003. With 60 trials at
// a power of at least 0.82, fewer than 39 are five standard deviations below the mean.
TEST(DetectionRates, TheWholeProcedureHasTheRatesOfItsPlan) {
  DetectionScenario scenario{.noise = NoiseKind::ar1_06};
  const auto nothing = simulate_detection(scenario, 60, 1);
  EXPECT_LE(nothing.of_planned.named.value * 60, 3.5);
  EXPECT_GT(nothing.of_planned.same.value, 0.5);
  scenario.ratio = 1.02;
  const auto slower = simulate_detection(scenario, 60, 1);
  EXPECT_GT(slower.of_planned.regressed.value * 60, 38.5);
  EXPECT_EQ(slower.refused.value, 0);
  EXPECT_EQ(slower.mean_minutes, simulate_detection(scenario, 60, 1).mean_minutes);
  scenario.within_s = 30;
  EXPECT_EQ(simulate_detection(scenario, 20, 1).refused.value, 1) << "before anything was tested";
}

TEST(Series, ShiftAtTheRequestedNight) {
  const SeriesPlan flat{.nights = 200, .first_shifted = 200};
  SeriesPlan stepped = flat;
  stepped.first_shifted = 150;
  stepped.shift_sigma = 5;
  const auto a = simulate_series(flat, 1, 0);
  const auto b = simulate_series(stepped, 1, 0);
  EXPECT_DOUBLE_EQ(b[149] - a[149], 0);
  EXPECT_NEAR(b[150] - a[150], 5 * kNightDeviation, 1e-12);
  EXPECT_NE(simulate_series(flat, 1, 1), a);
  EXPECT_THAT(screened_nights(b, Screening::until_it_speaks),
              testing::Contains(testing::AllOf(testing::Ge(150U), testing::Le(151U))));
}

TEST(SelftestSimulation, MeasuresEveryKindAndKeepsItsTable) {
  const auto results = run_selftest({.aa_trials = 20,
                                     .power_trials = 20,
                                     .series_years = 2,
                                     .delay_series = 3,
                                     .session_trials = 5,
                                     .detection_trials = 3},
                                    1);
  for (const auto& [kind, name] : spec::EnumNames<SelftestKind>::kNames) {
    EXPECT_TRUE(std::any_of(results.begin(), results.end(), [k = kind](const auto& r) { return r.kind == k; })) << name;
  }
  ScratchFolder scratch;
  auto db = open_database(scratch / "a.db");
  store_selftest(db, {.date_utc = "2026-01-01T00:00:00Z", .version = "1", .seed = ~std::uint64_t{0}}, results);
  Statement rows(db, "SELECT count(*), min(seed), count(met) FROM selftest_results");
  ASSERT_TRUE(rows.step());
  EXPECT_EQ(rows.integer(0), static_cast<std::int64_t>(results.size()));
  EXPECT_EQ(rows.text(1), "18446744073709551615");
  EXPECT_GT(rows.integer(2), 0);
  EXPECT_LT(rows.integer(2), rows.integer(0)) << "not every row has a goal";
}

TEST(Selftest, SaysWhichGoalsAreMet) {
  const SelftestResult good{.kind = SelftestKind::aa,
                            .noise = "n",
                            .measure = "m",
                            .value = 0.01,
                            .high = 0.015,
                            .goal = SelftestGoal{GoalRule::high_at_most, 0.02}};
  auto bad = good;
  bad.high = 0.03;
  auto power = good;
  power.kind = SelftestKind::power;
  power.goal = SelftestGoal{GoalRule::value_at_least, 0.8};
  const auto text = render_markdown(reports::selftest_document("seed 7", {good, bad, power}));
  EXPECT_THAT(text, HasSubstr("seed 7"));
  EXPECT_THAT(text, HasSubstr("1 of 3 goals met."));
  EXPECT_THAT(text, HasSubstr("upper end <= 0.02"));
  EXPECT_THAT(text, HasSubstr("### Paired decision and stored baselines: power"));
  EXPECT_THAT(render_csv(reports::selftest_document("", {bad})),
              HasSubstr("kind,noise,measure,value,low,high,goal_rule,goal,met\r\n"
                        "aa,n,m,0.01,0,0.03,high_at_most,0.02,no\r\n"));
}

TEST(SeriesExportSimulation, WritesEverySeriesAndItsScreens) {
  ScratchFolder scratch;
  EXPECT_EQ(export_series(scratch / "out", {.unchanged = 1, .shifted = 1, .seed = 1}), kNoiseKinds.size() * 5);
  std::ifstream values(scratch / "out/series.csv");
  std::string line;
  std::size_t lines = 0;
  while (std::getline(values, line)) ++lines;
  EXPECT_EQ(lines, 1 + kNoiseKinds.size() * (485 + 4 * 180));
  std::ifstream screens(scratch / "out/screens.csv");
  const std::string all{std::istreambuf_iterator<char>(screens), {}};
  EXPECT_THAT(all, HasSubstr("gaussian,5,0,12")) << "five deviations are found within the first nights after 120";
}

}  // namespace
}  // namespace perfbench::harness
