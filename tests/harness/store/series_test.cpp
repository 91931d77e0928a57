#include "harness/store/queries/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/app/night/history.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"
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
    out.attempt.sweep_kind = SweepKind::night;
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

// A night that two engines measured has a value for each. A run with an injected fault belongs to no night.
TEST_F(Nights, TwoEnginesAreTwoPoints) {
  for (const double step_s : {0.4, 0.4, 0.9}) {
    auto one = run(1, step_s);
    one.attempt.engine_sha256 = std::string(64, step_s < 0.5 ? 'a' : 'b');
    add(one);
  }
  auto faulty = run(1, 5.0);
  faulty.attempt.command.insert(faulty.attempt.command.end(), {"--inject", "slow:span=matmul,fraction=9"});
  add(faulty);
  const auto series = load();
  ASSERT_THAT(series, SizeIs(1));
  ASSERT_THAT(series[0].nights, SizeIs(2));
  EXPECT_NEAR(series[0].nights[0].value, 0.4, 1e-9);
  EXPECT_EQ(series[0].nights[0].runs, 2U);
  EXPECT_NEAR(series[0].nights[1].value, 0.9, 1e-9);
  EXPECT_EQ(series[0].nights[1].subject->engine_sha256, std::string(64, 'b'));
}

// The geometric mean of the two middle values, not the arithmetic one.
TEST_F(Nights, TwoRunsGiveTheirGeometricMean) {
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

// A GPU at its power cap changes its clock.
TEST_F(Nights, AGpuAllowsAProbeThatIsNoisyOnAProcessor) {
  for (const auto device : {spec::Device::cpu, spec::Device::cuda}) {
    auto turned = run(1, 0.5);
    turned.run.device = device;
    turned.attempt.cell = spec::enum_name(device);
    turned.probe_s = {1.00e-3, 1.00e-3, 1.15e-3, 1.00e-3, 1.15e-3, 1.00e-3};
    add(turned);
  }
  const auto series = load();  // by cell
  ASSERT_THAT(series, SizeIs(2));
  EXPECT_TRUE(series[0].nights[0].noisy);
  EXPECT_FALSE(series[1].nights[0].noisy);
}

TEST_F(Nights, TwoMachinesInOneNightAreTwoPoints) {
  add(run(1, 0.5));
  auto other = run(1, 0.8);
  other.environment.cpu_model = "another";
  add(other);
  const auto nights = load()[0].nights;
  ASSERT_THAT(nights, SizeIs(2));
  EXPECT_NE(nights[0].machine, nights[1].machine);
}

// Containers and cloud machines have another name every night, and a kernel is updated: thirty nights of one cell, the
// last half of them in twice the time, form one series.
TEST_F(Nights, GatherOnOneClassOfMachine) {
  for (int night = 1; night <= 28; ++night) {
    auto one = run(night, night == 28 ? 0.75 : 0.5 * (1 + 0.002 * (night * 7 % 5 - 2)));
    const auto number = std::to_string(night);
    one.environment.hostname = "runner-" + number;
    one.environment.kernel = "6.1." + number;
    one.environment.os = "Debian 12." + number;
    one.environment.container = night % 2 == 0 ? "docker" : "none";
    one.environment.cores_online = 2 + night;
    one.environment.memory_bytes = (std::int64_t{8} << 30) - night * 4096;
    add(one);
  }
  ingest_tree(db_, scratch_ / "runs");
  const auto seen = look_at_history(db_, {});
  ASSERT_THAT(seen.series, SizeIs(1));
  EXPECT_THAT(seen.series[0].nights, SizeIs(28));
  EXPECT_EQ(seen.series[0].state, ScreenState::shifted);
  ASSERT_THAT(seen.series[0].changes, SizeIs(27));
  EXPECT_THAT(change_text(seen.series[0].changes.back()),
              testing::AllOf(testing::HasSubstr("other facts of one class of machine: "),
                             testing::HasSubstr("hostname runner-27 -> runner-28"),
                             testing::HasSubstr("kernel 6.1.27 -> 6.1.28")));
}

TEST_F(Nights, PreviousNightsOfACellIncludeEveryMachineAndRun) {
  for (int night = 1; night <= 4; ++night) {
    auto one = run(night, 0.5);
    one.environment.cpu_model = "CPU " + std::to_string(night);
    one.run.seed = night;
    add(one);
  }
  add(run(2, 0.5, "only once"));
  ingest_tree(db_, scratch_ / "runs");
  const auto earlier = look_at_history(db_, {}).earlier;
  const auto ids = [&](const std::string& cell) {
    std::vector<std::string> out;
    for (const auto& night : earlier.at({"nightly", cell})) out.push_back(night.night.sweep_id);
    return out;
  };
  EXPECT_THAT(ids("c"), testing::ElementsAre("night01", "night02", "night03"));
  EXPECT_THAT(ids("only once"), testing::ElementsAre("night02"));
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
  control.attempt.matrix = "control";
  control.attempt.sweep_id = "control04";
  control.attempt.sweep_kind = SweepKind::control;
  add(control);
  const auto chosen = load({.series = "nightly/*=2", .nights = 3});
  ASSERT_THAT(chosen, SizeIs(2));  // and the control
  EXPECT_TRUE(chosen[0].is_control);
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
  const auto tonight = load_tonight(db_, {});
  EXPECT_EQ(tonight.night.at("nightly").sweep_id, "night02");
  EXPECT_EQ(tonight.night.at("nightly").revision, example_environment().git_commit);
  ASSERT_THAT(tonight.cells, SizeIs(2));
  EXPECT_EQ(tonight.cells[0].cell, "fine");
  EXPECT_EQ(tonight.cells[0].state, "ok");  // one of its runs was ok
  EXPECT_EQ(tonight.cells[1].state, "infeasible");
  EXPECT_EQ(tonight.cells[1].reason, "needs 80 GiB");
}

TEST_F(Nights, KnowTheRequestOfTheirSweep) {
  auto chosen = run(1, 0.5, "a");
  chosen.attempt.only = "fsdp=1";
  add(chosen);
  add(run(1, 0.5, "b"));  // resumed without --only
  add(run(2, 0.5, "a"));
  const auto nights = load()[0].nights;
  ASSERT_THAT(nights, SizeIs(2));
  EXPECT_EQ(nights[0].only, "fsdp=1");
  EXPECT_EQ(nights[1].only, "");
  EXPECT_EQ(load_tonight(db_, {}).only.at("nightly"), "");
  auto tonight = run(3, 0.5, "a");
  tonight.attempt.only = "fsdp=2";
  add(tonight);
  load();
  EXPECT_EQ(load_tonight(db_, {}).only.at("nightly"), "fsdp=2");
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

// Only nights count: neither a measurement by hand nor half of a comparison belongs to a history.
TEST_F(Nights, AreOnlySweepsMadeAsNights) {
  add(run(1, 0.5));
  int day = 2;
  for (const auto kind : {SweepKind::imported, SweepKind::hand, SweepKind::comparison, SweepKind::reproduction}) {
    auto other = run(day++, 0.9);
    other.attempt.sweep_kind = kind;
    add(other);
  }
  const auto series = load();
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_THAT(series[0].nights, SizeIs(1));
  EXPECT_EQ(load_tonight(db_, {}).night.at("nightly").sweep_id, "night01");
  auto made_up = run(day, 0.5);
  made_up.attempt.sweep_kind = SweepKind::simulated;
  add(made_up);
  EXPECT_THAT(load()[0].nights, SizeIs(2)) << "those of a demonstration are its history";
}

TEST_F(Nights, AMatrixIsMatchedByItsExactName) {
  for (const auto* name : {"tiny [nightly]", "tn", "tn/x", "tiny n", "control"}) {
    auto one = run(1, 0.5, name);
    one.attempt.matrix = name;
    one.attempt.sweep_id = name;
    add(one);
  }
  auto control = run(1, 0.1, "fixed");
  control.attempt.matrix = "control";
  control.attempt.sweep_id = "of the fixed engine";
  control.attempt.sweep_kind = SweepKind::control;
  add(control);
  ingest_tree(db_, scratch_ / "runs");
  for (const std::string name : {"tiny [nightly]", "tn", "tn/x", "control"}) {
    const auto series = load_history(db_, {.matrix = name});
    ASSERT_THAT(series, SizeIs(2)) << name;
    for (const auto& one : series) EXPECT_EQ(one.cell, one.is_control ? "fixed" : name);
    const auto tonight = load_tonight(db_, {.matrix = name});
    ASSERT_THAT(tonight.cells, SizeIs(1)) << name;
    EXPECT_EQ(tonight.cells[0].cell, name);
  }
  // In a pattern only * is special.
  for (const auto* pattern : {"tiny [nightly]/*", "tiny [*"}) {
    EXPECT_THAT(load_history(db_, {.series = pattern}), SizeIs(2)) << pattern;
  }
}

TEST_F(Nights, FutureOnesAreNamedAndNotUsed) {
  for (int night = 1; night <= 3; ++night) add(run(night, 0.5));
  auto future = run(4, 0.5);
  future.attempt.started_utc = "2030-01-01T02:00:00Z";
  add(future);
  const HistoryQuery query{.now_utc = "2026-02-01T00:00:00Z"};
  const auto series = load(query);
  ASSERT_THAT(series[0].nights, SizeIs(3));
  EXPECT_EQ(load_tonight(db_, query).night.at("nightly").sweep_id, "night03");
  const auto left_out = load_future_nights(db_, query);
  ASSERT_THAT(left_out, SizeIs(1));
  EXPECT_EQ(left_out[0].sweep_id, "night04");
  EXPECT_THAT(future_night_text(left_out[0]), testing::HasSubstr("dated 2030-01-01T02:00:00Z"));
}

// Two nodes measure one matrix into one store: the second one begins while the first one is measuring.
TEST_F(Nights, ConcurrentNightsUseTheirOwnSweep) {
  add(run(1, 0.5, "a"));
  for (const auto* node : {"first", "second"}) {
    auto tonight = run(2, 0.5, *node == 'f' ? "a" : "b");
    tonight.environment.cpu_model = node;
    tonight.attempt.sweep_id = node;
    add(tonight);
  }
  ingest_tree(db_, scratch_ / "runs");
  for (const std::string node : {"first", "second"}) {
    const HistoryQuery query{.matrix = "nightly", .night = NightSweeps{.sweep_id = node, .control_id = {}}};
    const auto seen = look_at_history(db_, query);
    ASSERT_THAT(seen.series, SizeIs(1)) << node;
    EXPECT_EQ(seen.series[0].nights.back().night.sweep_id, node);
    EXPECT_EQ(seen.series[0].series.cell, node == "first" ? "a" : "b");
  }
  const HistoryQuery unknown{.night = NightSweeps{.sweep_id = "left no row", .control_id = {}}};
  EXPECT_THAT(look_at_history(db_, unknown).series, testing::IsEmpty());
}

TEST_F(Nights, AnEmptyStoreHasNoSeries) {
  EXPECT_TRUE(look_at_history(db_, {}).series.empty());
}

}  // namespace
}  // namespace perfbench::harness
