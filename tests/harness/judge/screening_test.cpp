#include "harness/judge/screening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/control.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_series.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

SeriesHistory control_like(const SeriesHistory& series, unsigned seed) {
  auto out = example_series("fixed", static_cast<int>(series.nights.size()), 0.3, 0.002, seed);
  out.is_control = true;
  out.matrix = "control";
  for (auto& night : out.nights) night.night.revision = "fixed";
  return out;
}

TEST(ScreenSeries, FindsAShiftWithItsNightsAndRevisions) {
  auto series = example_series("c", 40);
  multiply_from(series, 37, 1.10);
  const auto screened = screen_series({series});
  ASSERT_THAT(screened, SizeIs(1));
  EXPECT_EQ(screened[0].state, ScreenState::shifted);
  ASSERT_TRUE(screened[0].finding.has_value());
  const auto& finding = *screened[0].finding;
  EXPECT_EQ(finding.kind, FindingKind::regression);
  EXPECT_EQ(finding.first_bad.revision, "rev1037");
  EXPECT_EQ(finding.last_good.revision, "rev1036");
  EXPECT_EQ(finding.seen_utc, "2026-1039");
  EXPECT_NEAR(*finding.ratio, 1.10, 0.02);  // medians of 3 and 37 nights of 1 %: a standard error of 0.7 %
  EXPECT_EQ(finding.series.machine, "m1");
  EXPECT_THAT(finding.detail, HasSubstr("for 3 nights"));
  ASSERT_THAT(finding.environment, SizeIs(1));  // the commit is part of the fingerprint, too
  EXPECT_EQ(finding.environment[0].field, "git_commit");
}

TEST(ScreenSeries, FindsNothingInASteadySeries) {
  const auto screened = screen_series({example_series("c", 40)});
  EXPECT_EQ(screened[0].state, ScreenState::steady);
  EXPECT_FALSE(screened[0].finding.has_value());
}

TEST(ScreenSeries, KindFollowsMetricAndDirection) {
  struct Case {
    const char* metric;
    double factor;
    FindingKind kind;
  };
  for (const auto& [metric, factor, kind] :
       {Case{"step_time_s", 0.8, FindingKind::improvement}, Case{"tokens_per_s", 0.8, FindingKind::regression},
        Case{"tokens_per_s", 1.2, FindingKind::improvement}, Case{"peak_memory_bytes", 1.2, FindingKind::memory},
        Case{"final_loss", 1.2, FindingKind::loss}, Case{"final_loss", 0.8, FindingKind::improvement},
        Case{"startup_time_s", 1.2, FindingKind::startup}}) {
    auto series = example_series("c", 40);
    series.metric = metric;
    multiply_from(series, 36, factor);
    const auto screened = screen_series({series});
    ASSERT_TRUE(screened[0].finding.has_value()) << metric;
    EXPECT_EQ(screened[0].finding->kind, kind) << metric << " " << factor;
  }
  auto neutral = example_series("c", 40);
  neutral.metric = "grad_norm";
  EXPECT_THROW(screen_series({neutral}), InputError);
}

TEST(ScreenSeries, AProgramDeclaresWhichWayItsMetricIsBetter) {
  for (const auto direction : {spec::Direction::lower_is_better, spec::Direction::higher_is_better}) {
    auto series = example_series("c", 40);
    series.metric = "words_per_s";
    series.declared = direction;
    multiply_from(series, 36, 0.8);
    const auto screened = screen_series({series});
    ASSERT_TRUE(screened[0].finding.has_value());
    EXPECT_EQ(screened[0].finding->kind,
              direction == spec::Direction::lower_is_better ? FindingKind::improvement : FindingKind::regression);
  }
  auto undeclared = example_series("c", 40);
  undeclared.metric = "words_per_s";
  EXPECT_THROW(screen_series({undeclared}), InputError);
  // An earlier run of the matrix did not declare it yet.
  auto declared = undeclared;
  declared.cell = "d";
  declared.declared = spec::Direction::higher_is_better;
  EXPECT_THAT(screen_series({undeclared, declared}), SizeIs(1));
  // A program may say which way a metric is better that has no better direction elsewhere.
  declared.metric = "grad_norm";
  EXPECT_THAT(screen_series({declared}), SizeIs(1));
}

// The machine became slower by a tenth: cell and control alike.
TEST(ScreenSeries, DriftThatTheControlSharesIsTheEnvironment) {
  auto series = example_series("c", 40);
  auto control = control_like(series, 2);
  multiply_from(series, 37, 1.10);
  multiply_from(control, 37, 1.10);
  const auto screened = screen_series({series, control});
  ASSERT_THAT(screened, SizeIs(2));
  EXPECT_TRUE(screened[0].control);
  EXPECT_EQ(screened[0].state, ScreenState::steady);
  ASSERT_TRUE(screened[1].finding.has_value());
  EXPECT_EQ(screened[1].finding->kind, FindingKind::environment);
  EXPECT_EQ(screened[1].finding->series.matrix, "control");
}

TEST(ScreenSeries, TheControlHidesNoShiftOfTheCellAlone) {
  auto series = example_series("c", 40);
  multiply_from(series, 37, 1.10);
  const auto screened = screen_series({series, control_like(series, 2)});
  EXPECT_TRUE(screened[0].control);
  EXPECT_EQ(screened[0].finding->kind, FindingKind::regression);
  EXPECT_THAT(screened[0].finding->detail, HasSubstr("control subtracted"));
  EXPECT_EQ(screened[1].state, ScreenState::steady);
}

// The sweep says that it is the control; a matrix may have any name.
TEST(ScreenSeries, AMatrixMayHaveTheNameOfTheControl) {
  auto series = example_series("c", 40);
  series.matrix = "control";
  multiply_from(series, 37, 1.10);
  const auto control = control_like(series, 2);
  for (const auto& given : {std::vector{series, control}, std::vector{control, series}}) {
    const auto screened = screen_series(given);
    ASSERT_THAT(screened, SizeIs(2));
    const auto& of_matrix = screened[screened[0].is_control ? 1 : 0];
    ASSERT_TRUE(of_matrix.finding.has_value());
    EXPECT_EQ(of_matrix.finding->kind, FindingKind::regression);
    EXPECT_TRUE(of_matrix.control);
  }
}

TEST(ScreenSeries, IfTwoNightsShareASecondTheOneStoredLaterIsTheNewest) {
  auto old = example_series("old", 40);
  old.nights.back().sweep_key = 1;
  auto fresh = example_series("fresh", 40);
  fresh.nights.back().night.sweep_id = "of another node";
  fresh.nights.back().sweep_key = 2;
  const auto screened = screen_series({old, fresh});
  ASSERT_THAT(screened, SizeIs(1));
  EXPECT_EQ(screened[0].series.cell, "fresh");
}

TEST(ScreenSeries, MemoryIsNotCorrectedByTheControl) {
  auto series = example_series("c", 40);
  series.metric = "peak_memory_bytes";
  auto control = control_like(series, 2);
  control.metric = series.metric;
  EXPECT_FALSE(screen_series({series, control})[0].control);
}

TEST(ScreenSeries, WithoutTonightsControlNothingIsSubtracted) {
  const auto series = example_series("c", 40);
  auto control = control_like(series, 2);
  control.nights.pop_back();
  // The control's own newest night is a day old; it is 24 hours away from that of the series.
  EXPECT_FALSE(screen_series({series, control})[0].control);
}

TEST(ScreenSeries, OtherFactsOfTheMachineBeginASegment) {
  auto series = example_series("c", 60);
  for (std::size_t i = 40; i < 60; ++i) {
    const auto value = series.nights[i].value * 1.3;
    series.nights[i] = example_point(static_cast<int>(i), value, "m2");
  }
  const auto screened = screen_series({series});
  ASSERT_THAT(screened, SizeIs(1));
  EXPECT_EQ(screened[0].series.machine, "m2");
  EXPECT_THAT(screened[0].nights, SizeIs(20));
  EXPECT_EQ(screened[0].state, ScreenState::steady);  // not the 30 % between the machines
  ASSERT_THAT(screened[0].changes, SizeIs(1));
  EXPECT_EQ(screened[0].changes[0].night.revision, "rev1040");
  ASSERT_THAT(screened[0].changes[0].facts, SizeIs(1));  // the commit is not a fact of the machine
  EXPECT_EQ(screened[0].changes[0].facts[0].field, "hostname");
  EXPECT_EQ(screened[0].changes[0].facts[0].right, "m2");
  EXPECT_EQ(screened[0].changes[0].of, ChangeOf::machine_class);
  EXPECT_EQ(change_text(screened[0].changes[0]), "another class of machine: hostname m1 -> m2");
}

TEST(ScreenSeries, OtherFactsOfOneClassAreListedAndBeginNoSegment) {
  auto series = example_series("c", 60);
  for (std::size_t i = 40; i < 60; ++i) {
    auto facts = *series.nights[i].facts;
    facts["kernel"] = "6.5";
    series.nights[i].facts = std::make_shared<const std::map<std::string, std::string>>(facts);
  }
  multiply_from(series, 58, 1.10);
  const auto screened = screen_series({series});
  ASSERT_THAT(screened, SizeIs(1));
  EXPECT_THAT(screened[0].nights, SizeIs(60));
  EXPECT_EQ(screened[0].state, ScreenState::shifted);
  ASSERT_THAT(screened[0].changes, SizeIs(1));
  EXPECT_EQ(screened[0].changes[0].night.revision, "rev1040");
  EXPECT_EQ(screened[0].changes[0].of, ChangeOf::other_facts);
  EXPECT_EQ(change_text(screened[0].changes[0]), "other facts of one class of machine: kernel unknown -> 6.5");
}

TEST(LibraryChanges, NeedAVersionOnBothNights) {
  EXPECT_EQ(library_changes({{"libraries.oneDNN", "2.6"}, {"mpi", "4"}, {"compiler", "12"}, {"libraries.cuDNN", "9"}},
                            {{"libraries.oneDNN", "3.1"}, {"mpi", "5"}, {"compiler", "13"}, {"libraries.NVTX", "3"}}),
            "libraries.oneDNN 2.6 -> 3.1; mpi 4 -> 5");
  EXPECT_EQ(library_changes({{"libraries.oneDNN", "2.6"}}, {{"libraries.oneDNN", "2.6"}, {"kernel", "6"}}), "");
}

TEST(ScreenSeries, ReportsTooFewNights) {
  const auto screened = screen_series({example_series("c", 12)});
  EXPECT_EQ(screened[0].state, ScreenState::too_few_nights);
  EXPECT_EQ(screened[0].screened.size(), 12U);
  EXPECT_NE(screen_series({example_series("c", 13)})[0].state, ScreenState::too_few_nights);
}

TEST(ScreenSeries, NoisyNightsAreLeftOutUnlessMostAre) {
  auto series = example_series("c", 40);
  for (std::size_t i = 35; i < 38; ++i) {
    series.nights[i].noisy = true;
    series.nights[i].value *= 2;
  }
  EXPECT_EQ(screen_series({series})[0].screened.size(), 37U);
  EXPECT_EQ(screen_series({series})[0].state, ScreenState::steady);
  for (auto& night : series.nights) night.noisy = true;
  EXPECT_EQ(screen_series({series})[0].screened.size(), 40U);
}

TEST(ScreenSeries, TheNewestNightIsScreenedThoughItIsNoisy) {
  auto series = example_series("c", 40);
  series.nights.back().noisy = true;
  series.nights.back().value *= 2;
  EXPECT_EQ(screen_series({series})[0].screened.size(), 40U);
  EXPECT_EQ(screen_series({series})[0].state, ScreenState::shifted);
}

// Number of reported nights among the twenty after +3 %: once if the change leaves the probe steady, and once if it
// does not.
TEST(ScreenSeriesSimulation, AShiftThatDisturbsTheProbeIsFoundAsWellAsAQuietOne) {
  const auto nights_found = [](bool noisy) {
    int found = 0;
    for (int since = 1; since <= 20; ++since) {
      auto series = example_series("c", 100 + since);
      multiply_from(series, 100, 1.03);
      for (std::size_t i = 100; i < series.nights.size(); ++i) series.nights[i].noisy = noisy;
      found += screen_series({series})[0].state == ScreenState::shifted;
    }
    return found;
  };
  const int calm = nights_found(false);
  EXPECT_GE(calm, 18);
  EXPECT_GE(nights_found(true), calm - 1);
}

// In two noisy weeks one night in three is twice as slow, and no night since is steady: that is the noise of the probe.
TEST(ScreenSeries, NoisyNightsAreLeftOutUnlessTheyAreMostNightsSinceTheShift) {
  auto series = example_series("c", 60);
  for (std::size_t i = 50; i < 60; i += 3) {
    series.nights[i].noisy = true;
    series.nights[i].value *= 1.5;
  }
  series.nights.back().noisy = false;
  series.nights.back().value = 1;
  const auto screened = screen_series({series})[0];
  EXPECT_EQ(screened.state, ScreenState::steady);
  EXPECT_EQ(screened.screened.size(), 57U);
}

TEST(ScreenSeries, SkipsSeriesThatWereNotMeasuredTonight) {
  auto old = example_series("old", 40);
  old.nights.pop_back();
  EXPECT_THAT(screen_series({example_series("c", 40), old}), SizeIs(1));
}

KnownShift known_shift(const SeriesHistory& series, std::size_t first) {
  return {.series = {series.matrix, series.cell, series.run_id, series.metric, "m1"},
          .first_utc = series.nights[first].night.started_utc,
          .live = true,
          .told = "improvement -30.0 %, alert 1a2b3c4d5e6f open"};
}

// With both levels, the nights before would have a noise of a third, in which a fifth would be invisible.
TEST(ScreenSeries, AKnownShiftDoesNotHideASecondOne) {
  auto series = example_series("c", 123);
  multiply_from(series, 80, 0.7);
  multiply_from(series, 120, 1.2);
  EXPECT_EQ(screen_series({series})[0].state, ScreenState::steady) << "the test has lost its sense";
  const auto screened = screen_series({series}, {known_shift(series, 80)});
  ASSERT_TRUE(screened[0].finding.has_value());
  EXPECT_EQ(screened[0].finding->kind, FindingKind::regression);
  EXPECT_EQ(screened[0].finding->first_bad.revision, "rev1120");
  EXPECT_NEAR(*screened[0].finding->ratio, 1.2, 0.02);
}

// The pairs of its night confirmed it; while its alert is live the series names it.
TEST(ScreenSeries, AKnownShiftIsNotFoundAgain) {
  auto series = example_series("c", 85);
  multiply_from(series, 80, 0.7);
  EXPECT_EQ(screen_series({series})[0].state, ScreenState::shifted);
  const auto known = known_shift(series, 80);
  const auto screened = screen_series({series}, {known})[0];
  EXPECT_EQ(screened.state, ScreenState::steady);
  ASSERT_TRUE(screened.known.has_value());
  EXPECT_EQ(screened.known->told, known.told);
  auto closed = known;
  closed.live = false;
  EXPECT_FALSE(screen_series({series}, {closed})[0].known.has_value());
}

TEST(ScreenSeries, AKnownShiftAffectsOnlyItsSeries) {
  auto series = example_series("c", 85);
  multiply_from(series, 80, 0.7);
  const auto known = known_shift(series, 80);
  auto of_cell = known;
  of_cell.series.cell = "another";
  auto of_metric = known;
  of_metric.series.metric = "startup_time_s";
  auto of_run = known;
  of_run.series.run_id = std::string(64, 'b');
  auto later = known;
  later.first_utc = "2026-9999";  // a night that this one does not know yet
  for (const auto& other : {of_cell, of_metric, of_run, later}) {
    const auto screened = screen_series({series}, {other})[0];
    EXPECT_EQ(screened.state, ScreenState::shifted);
    EXPECT_FALSE(screened.known.has_value());
  }
}

TEST(ScreenSeries, AKnownShiftOfTheMachineAffectsEverySpeedOnIt) {
  auto series = example_series("c", 85);
  multiply_from(series, 80, 1.3);
  auto known = known_shift(series, 80);
  known.series.cell = "another";
  known.of_machine = true;
  EXPECT_EQ(screen_series({series}, {known})[0].state, ScreenState::steady);
  auto elsewhere = known;
  elsewhere.series.machine = "m2";
  EXPECT_EQ(screen_series({series}, {elsewhere})[0].state, ScreenState::shifted);
  series.metric = "peak_memory_bytes";
  EXPECT_EQ(screen_series({series}, {known})[0].state, ScreenState::shifted) << "memory is not the machine's";
}

// The control stepped by 2 % on the night of the cell's own step. Its noise is independent and six times the cell's:
// because of the two steps, the cell would seem to share all of it.
TEST(ScreenSeries, AKnownShiftIsNotPartOfTheControlsShare) {
  for (const unsigned seed : {2U, 3U, 4U, 5U}) {
    auto series = example_series("c", 123, 1, 0.005);
    multiply_from(series, 80, 1.5);
    multiply_from(series, 120, 1.05);
    auto control = example_series("fixed", 123, 0.3, 0.03, seed);
    multiply_from(control, 80, 1.02);
    control.is_control = true;
    for (auto& night : control.nights) night.night.revision = "fixed";
    const auto screened = screen_series({series, control}, {known_shift(series, 80)})[0];
    EXPECT_TRUE(screened.control) << seed;
    ASSERT_TRUE(screened.finding.has_value()) << seed;
    EXPECT_NEAR(*screened.finding->ratio, 1.05, 0.02) << seed;
  }
}

NightPoint control_point(int n, double value, const std::string& engine = "fixed") {
  auto out = example_point(n, value);
  out.night.revision = engine;
  return out;
}

// The new engine is twice as fast: neither the machine's speed nor a cell's changed with it.
TEST(ControlDrift, ANewEngineStartsAgainWithItsThirdNight) {
  SeriesHistory control{.is_control = true, .matrix = "control", .cell = "a", .nights = {}};
  for (int n = 0; n < 20; ++n) control.nights.push_back(control_point(n, 1));
  control.nights.push_back(control_point(20, 0.5, "new"));
  control.nights.push_back(control_point(21, 0.5, "new"));
  EXPECT_FALSE(ControlDrift({control}).log_of(example_point(21, 1)).has_value()) << "two nights tell of no drift";
  EXPECT_NEAR(*ControlDrift({control}).log_of(example_point(19, 1)), 0, 1e-12);
  control.nights.push_back(control_point(22, 0.5 * std::exp(0.1), "new"));
  EXPECT_NEAR(*ControlDrift({control}).log_of(example_point(22, 1)), 0.1, 1e-12);
  EXPECT_NEAR(*ControlDrift({control}).log_of(example_point(20, 1)), 0, 1e-12);
}

TEST(ScreenSeries, ANewEngineOfTheControlIsNotAChangeOfTheMachine) {
  auto series = example_series("c", 60);
  auto control = control_like(series, 2);
  multiply_from(control, 40, 0.5);
  for (std::size_t n = 40; n < 60; ++n) control.nights[n].night.revision = "new";
  const auto screened = screen_series({series, control});
  ASSERT_THAT(screened, SizeIs(2));
  EXPECT_EQ(screened[0].state, ScreenState::steady);
  EXPECT_TRUE(screened[0].control);
  EXPECT_EQ(screened[1].state, ScreenState::steady);
  EXPECT_THAT(screened[1].nights, SizeIs(20));
}

// The control's own noise, six times that of the cell, would hide the cell's shift if it were subtracted completely.
TEST(ScreenSeries, AControlWithIndependentNoiseHidesNothing) {
  for (const unsigned seed : {2U, 3U, 4U, 5U}) {
    auto series = example_series("c", 60, 1, 0.005);
    multiply_from(series, 57, 1.05);
    auto control = example_series("fixed", 60, 0.3, 0.03, seed);
    control.is_control = true;
    for (auto& night : control.nights) night.night.revision = "fixed";
    const auto screened = screen_series({series, control});
    EXPECT_TRUE(screened[0].control) << seed;
    EXPECT_EQ(screened[0].state, ScreenState::shifted) << seed;
  }
}

// By hand: logs 1, 2, 3, 4 against drifts 0, 2, 2, 4: covariance 6 / 4, variance 8 / 4.
TEST(ControlShare, IsTheSlopeOfTheRegressionWithinNoneAndAll) {
  EXPECT_NEAR(control_share({1, 2, 3, 4}, {0, 2, 2, 4}), 0.75, 1e-12);
  EXPECT_EQ(control_share({0, 2, 2, 4}, {1, 2, 3, 4}), 1) << "1.2";
  EXPECT_EQ(control_share({4, 3, 2, 1}, {0, 2, 2, 4}), 0) << "the other way";
  EXPECT_EQ(control_share({4, 3, 2, 1}, {5, 5, 5, 5}), 0) << "no drift at all";
}

TEST(ControlDrift, IsTheMeanOverCellsLessTheirMedians) {
  SeriesHistory a{.is_control = true, .matrix = "control", .cell = "a", .nights = {}};
  SeriesHistory b{.is_control = true, .matrix = "control", .cell = "b", .nights = {}};
  for (int n = 0; n < 5; ++n) {
    a.nights.push_back(control_point(n, n == 4 ? 2 * std::exp(0.10) : 2));
    b.nights.push_back(control_point(n, n == 4 ? 7 * std::exp(0.30) : 7));
  }
  const ControlDrift drift({a, b});
  EXPECT_NEAR(*drift.log_of(example_point(4, 1)), 0.20, 1e-12);
  EXPECT_NEAR(*drift.log_of(example_point(0, 1)), 0.0, 1e-12);
  EXPECT_FALSE(drift.log_of(example_point(4, 1, "m2")).has_value());
}

TEST(ControlDrift, TakesTheSameSweepBeforeTheNearestNightWithinHalfADay) {
  SeriesHistory control{.is_control = true, .matrix = "control", .cell = "a", .nights = {}};
  for (int n = 0; n < 5; ++n) control.nights.push_back(control_point(n, 1));
  auto late = control_point(5, std::exp(0.5));
  late.night.sweep_id = "control-5";
  late.started_s -= 11 * 3600;  // of night 5, and 13 hours after night 4
  control.nights.push_back(late);
  const ControlDrift drift({control});
  EXPECT_NEAR(*drift.log_of(example_point(5, 1)), 0.5, 1e-12);
  EXPECT_NEAR(*drift.log_of(example_point(4, 1)), 0.0, 1e-12);
  EXPECT_FALSE(drift.log_of(example_point(6, 1)).has_value());
  auto between = example_point(5, 1);
  between.night.sweep_id = "another";
  between.started_s -= 20 * 3600;  // 4 hours after night 4, 9 before the late one
  EXPECT_NEAR(*drift.log_of(between), 0.0, 1e-12);
}

// If no control ran, the probe of the same runs shows the machine's speed.
TEST(WeighAgainstProbe, AShiftOfTheProbeTooIsAChangeOfTheEnvironment) {
  struct Case {
    double probe_factor;
    FindingKind kind;
  };
  for (const auto& [probe_factor, kind] :
       {Case{1.10, FindingKind::environment}, Case{1.06, FindingKind::environment}, Case{1.03, FindingKind::regression},
        Case{1.0, FindingKind::regression}, Case{0.9, FindingKind::regression}}) {
    auto series = example_series("c", 40);
    multiply_from(series, 37, 1.10);
    auto screened = screen_series({series})[0];
    ASSERT_TRUE(screened.finding.has_value());
    std::map<std::string, double> probes;
    for (const auto& night : screened.nights) {
      const bool bad = night.night.started_utc >= screened.finding->first_bad.started_utc;
      probes[night.night.sweep_id] = 0.001 * (bad ? probe_factor : 1);
    }
    weigh_against_probe(screened, probes);
    EXPECT_EQ(screened.finding->kind, kind) << probe_factor;
  }
}

TEST(WeighAgainstProbe, KnowsThatARateFallsWhenTheProbeRises) {
  auto series = example_series("c", 40);
  series.metric = "tokens_per_s";
  multiply_from(series, 37, 0.90);
  auto screened = screen_series({series})[0];
  std::map<std::string, double> probes;
  for (const auto& night : screened.nights) {
    probes[night.night.sweep_id] = night.night.started_utc >= screened.finding->first_bad.started_utc ? 1.1 : 1.0;
  }
  weigh_against_probe(screened, probes);
  EXPECT_EQ(screened.finding->kind, FindingKind::environment);
}

Tonight tonight_with(const std::vector<TonightCell>& cells) {
  const auto night = example_point(40, 1).night;
  return {.night = {{"nightly", night}}, .only = {{"nightly", ""}}, .cells = cells};
}

TEST(VanishedCells, AreCellsOfTheLastNightsThatAreNotOkTonight) {
  const std::vector<SeriesHistory> series{example_series("here", 40), example_series("gone", 40),
                                          example_series("crashed", 40), example_series("long ago", 32)};
  const auto found = vanished_cells(
      series, tonight_with({{"nightly", "here", "ok", ""}, {"nightly", "crashed", "crashed", "signal 11"}}), 7);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].series.cell, "crashed");
  EXPECT_EQ(found[0].detail, "not measured tonight: crashed, signal 11");
  EXPECT_EQ(found[1].series.cell, "gone");
  EXPECT_EQ(found[1].detail, "not measured tonight: not in the sweep");
  EXPECT_EQ(found[1].kind, FindingKind::vanished_cell);
  EXPECT_EQ(found[1].last_good.sweep_id, "night-1039");
  EXPECT_EQ(found[1].first_bad.sweep_id, "night-1040");
  EXPECT_FALSE(found[1].ratio.has_value());
}

void select(SeriesHistory& series, std::size_t first, const std::string& selection) {
  for (auto i = first; i < series.nights.size(); ++i) series.nights[i].only = selection;
}

TEST(VanishedCells, LeaveOutCellsThatWereNotRequested) {
  auto tonight = tonight_with({{"nightly", "crashed", "crashed", "signal 11"}});
  tonight.only["nightly"] = "fsdp=1";
  auto gone = example_series("gone", 40);
  select(gone, 38, "fsdp=1");
  const auto found = vanished_cells({example_series("left out", 38), example_series("crashed", 38), gone}, tonight, 7);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].series.cell, "crashed");
  EXPECT_EQ(found[1].series.cell, "gone");
}

TEST(VanishedCells, AreSeenAcrossNightsOfAPartOfTheMatrix) {
  auto here = example_series("here", 40);
  select(here, 30, "fsdp=1");
  const auto gone = example_series("gone", 30);
  const auto found = vanished_cells({here, gone}, tonight_with({{"nightly", "here", "ok", ""}}), 7);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].last_good.sweep_id, "night-1029");
}

// Two nodes in one store: a cell that only the larger one can run does not vanish on the smaller one.
TEST(VanishedCells, LeaveOutCellsThatOnlyAnotherMachineCanRun) {
  auto here = example_series("here", 41);
  auto large = example_series("large", 40);
  for (auto& night : large.nights) night.machine = "m2";
  for (const auto* state : {"infeasible", "excluded", "crashed"}) {
    const auto tonight = tonight_with({{"nightly", "here", "ok", ""}, {"nightly", "large", state, "why"}});
    EXPECT_THAT(vanished_cells({here, large}, tonight, 7), SizeIs(std::string(state) == "crashed" ? 1 : 0)) << state;
    EXPECT_THAT(vanished_cells({here, example_series("large", 40)}, tonight, 7), SizeIs(1)) << state;
    EXPECT_THAT(vanished_cells({large}, tonight, 7), SizeIs(1)) << state << ", and where tonight ran is not known";
  }
}

TEST(VanishedCells, LeaveOutTheControl) {
  auto control = example_series("c", 40);
  control.is_control = true;
  auto tonight = tonight_with({});
  EXPECT_THAT(vanished_cells({control}, tonight, 7), IsEmpty());
  tonight.cells = {{"nightly", "c", "crashed", "signal 11"}};
  EXPECT_THAT(vanished_cells({control}, tonight, 7), IsEmpty()) << "that is a cell of the same name";
}

TEST(VanishedCells, ACellOfSeveralRunsIsOneFinding) {
  auto old = example_series("c", 36);
  auto fresh = example_series("c", 40);
  fresh.run_id = std::string(64, 'b');
  const auto found = vanished_cells({old, fresh}, tonight_with({}), 7);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].series.run_id, fresh.run_id);
}

}  // namespace
}  // namespace perfbench::harness
