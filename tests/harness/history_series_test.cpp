#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/history/history.h"
#include "harness/history/series.h"
#include "harness/input_error.h"
#include "harness/store/database.h"
#include "harness/store/ingest.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::SizeIs;

class Nights : public testing::Test {
 protected:
  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");
  int written_ = 0;

  // A run of night `night` (1 to 28) whose steps take `step_s`.
  ExampleRun run(int night, double step_s, const std::string& cell = "c") {
    ExampleRun out{.attempt = example_attempt(cell, ++written_)};
    const auto day = (night < 10 ? "0" : "") + std::to_string(night);
    out.attempt.sweep_id = "night" + day;
    out.attempt.matrix = "nightly";
    out.attempt.started_utc = "2026-01-" + day + "T02:00:" + std::to_string(10 + written_ % 50) + "Z";
    out.step_s.assign(6, step_s);
    return out;
  }
  void add(const ExampleRun& example) { write_run_directory(scratch_ / "runs" / std::to_string(written_), example); }
  std::vector<SeriesHistory> load(const HistoryQuery& query = {}) {
    ingest_tree(db_, scratch_ / "runs");
    return load_history(db_, query);
  }
};

TEST_F(Nights, AreTheMediansOfTheirRunsOnTheLogScale) {
  for (const double step_s : {0.4, 0.5, 2.0}) add(run(2, step_s));
  add(run(1, 0.3));
  const auto series = load();
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_EQ(series[0].matrix, "nightly");
  EXPECT_EQ(series[0].cell, "c");
  ASSERT_THAT(series[0].nights, SizeIs(2));
  EXPECT_NEAR(series[0].nights[0].value, 0.3, 1e-9);
  EXPECT_EQ(series[0].nights[0].night.sweep_id, "night01");
  const auto& second = series[0].nights[1];
  EXPECT_NEAR(second.value, 0.5, 1e-9);
  EXPECT_EQ(second.runs, 3U);
  EXPECT_EQ(second.started_s % 86400, 2 * 3600 + 11);
  EXPECT_EQ(second.night.revision, example_environment().git_commit);
  EXPECT_EQ(second.facts->at("hostname"), example_environment().hostname);
}

// The geometric mean of the two middle ones, not the arithmetic one.
TEST_F(Nights, OfTwoRunsAreTheirGeometricMean) {
  for (const double step_s : {0.4, 0.9}) add(run(1, step_s));
  EXPECT_NEAR(load()[0].nights[0].value, 0.6, 1e-9);
}

TEST_F(Nights, LeaveOutNoisyAndFailedRuns) {
  add(run(1, 0.5));
  auto noisy = run(1, 5.0);
  noisy.probe_s = {0.001, 0.001, 0.002, 0.001, 0.002, 0.001};
  add(noisy);
  auto failed = run(1, 9.0);
  failed.attempt.state = AttemptState::crashed;
  add(failed);
  noisy = run(2, 6.0);
  noisy.probe_s = {0.001, 0.001, 0.002, 0.001, 0.002, 0.001};
  add(noisy);
  const auto nights = load()[0].nights;
  ASSERT_THAT(nights, SizeIs(2));
  EXPECT_NEAR(nights[0].value, 0.5, 1e-9);
  EXPECT_FALSE(nights[0].noisy);
  EXPECT_EQ(nights[0].runs, 1U);
  EXPECT_TRUE(nights[1].noisy);
  EXPECT_NEAR(nights[1].value, 6.0, 1e-9);
}

TEST_F(Nights, TwoMachinesOfOneNightAreTwoPoints) {
  add(run(1, 0.5));
  auto other = run(1, 0.8);
  other.environment.hostname = "elsewhere";
  add(other);
  const auto nights = load()[0].nights;
  ASSERT_THAT(nights, SizeIs(2));
  EXPECT_NE(nights[0].machine, nights[1].machine);
}

// A new build is not a new machine.
TEST_F(Nights, TwoBuildsOfOneMachineAreOnePoint) {
  add(run(1, 0.4));
  auto other = run(1, 0.9);
  other.environment.git_commit = "another";
  add(other);
  ASSERT_THAT(load()[0].nights, SizeIs(1));
}

TEST_F(Nights, AreChosenByPatternMetricAndNumber) {
  for (int night = 1; night <= 4; ++night) {
    add(run(night, 0.5, "fsdp=1"));
    add(run(night, 0.7, "fsdp=2"));
  }
  auto control = run(4, 0.1, "fixed");
  control.attempt.matrix = kControlMatrix;
  control.attempt.sweep_id = "control04";
  add(control);
  const auto chosen = load({.series = "nightly/*=2", .nights = 3});
  ASSERT_THAT(chosen, SizeIs(2));  // and the control
  EXPECT_EQ(chosen[0].matrix, "control");
  EXPECT_EQ(chosen[1].cell, "fsdp=2");
  ASSERT_THAT(chosen[1].nights, SizeIs(3));
  EXPECT_EQ(chosen[1].nights[0].night.sweep_id, "night02");
  const auto memory = load_history(db_, {.series = "nightly/*=1", .metric = "peak_memory_bytes"});
  EXPECT_NEAR(memory[1].nights[0].value, 64 << 20, 1e-3);
}

TEST_F(Nights, TonightIsTheNewestSweepWithTheStateOfEachCell) {
  add(run(1, 0.5, "old"));
  add(run(2, 0.5, "fine"));
  auto crashed = run(2, 0.5, "fine");
  crashed.attempt.state = AttemptState::crashed;
  add(crashed);
  auto large = run(2, 0.5, "large");
  large.attempt.state = AttemptState::infeasible;
  large.attempt.reason = "needs 80 GiB";
  add(large);
  ingest_tree(db_, scratch_ / "runs");
  const auto tonight = load_tonight(db_);
  EXPECT_EQ(tonight.night.at("nightly").sweep_id, "night02");
  EXPECT_EQ(tonight.night.at("nightly").revision, example_environment().git_commit);
  ASSERT_THAT(tonight.cells, SizeIs(2));
  EXPECT_EQ(tonight.cells[0].cell, "fine");
  EXPECT_EQ(tonight.cells[0].state, "ok");  // one of its runs was
  EXPECT_EQ(tonight.cells[1].state, "infeasible");
  EXPECT_EQ(tonight.cells[1].reason, "needs 80 GiB");
}

TEST_F(Nights, KnowWhatTheirSweepWasAskedFor) {
  auto chosen = run(1, 0.5, "a");
  chosen.attempt.selection = "fsdp=1";
  add(chosen);
  add(run(1, 0.5, "b"));  // resumed without --only
  add(run(2, 0.5, "a"));
  const auto nights = load()[0].nights;
  ASSERT_THAT(nights, SizeIs(2));
  EXPECT_EQ(nights[0].selection, "fsdp=1");
  EXPECT_EQ(nights[1].selection, "");
  EXPECT_EQ(load_tonight(db_).selection.at("nightly"), "");
  auto tonight = run(3, 0.5, "a");
  tonight.attempt.selection = "fsdp=2";
  add(tonight);
  load();
  EXPECT_EQ(load_tonight(db_).selection.at("nightly"), "fsdp=2");
}

TEST_F(Nights, ProbesAreTheMediansOfEachNight) {
  for (const double probe_s : {0.001, 0.002, 0.004}) {
    auto example = run(1, 0.5);
    example.probe_s = {probe_s};
    add(example);
  }
  const auto series = load()[0];
  const auto probes =
      load_probes(db_, {series.matrix, series.cell, series.run_id, series.metric, series.nights[0].machine});
  ASSERT_THAT(probes, SizeIs(1));
  EXPECT_NEAR(probes.at("night01"), 0.002, 1e-9);
}

TEST_F(Nights, AnEmptyStoreHasNoSeries) {
  EXPECT_TRUE(look_at_history(db_, {}).series.empty());
}

}  // namespace
}  // namespace perfbench::harness
