#include "harness/execute/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "harness/evidence/attempt.h"
#include "harness/evidence/run_directory.h"
#include "harness/evidence/run_evidence.h"
#include "harness/execute/interruption.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_run.h"
#include "tests/harness/fake_engine.h"

namespace perfbench::harness {
namespace {

using fake::FakeBehaviour;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// A store in memory, which a test can break.
struct FakeStore {
  std::set<fs::path> directories;
  std::string broken;

  std::string spoiled;  // the answer for every attempt

  std::string store(const fs::path& directory) {
    if (!broken.empty()) throw std::runtime_error(broken);
    directories.insert(directory);
    return spoiled;
  }
  std::int64_t count(const std::string& sweep_id, const std::string& run_id, AttemptState state) const {
    if (!broken.empty()) throw std::runtime_error(broken);
    std::int64_t found = 0;
    for (const auto& directory : directories) {
      const auto record = read_attempt(directory);
      found += record->sweep_id == sweep_id && record->run_id == run_id && record->state == state ? 1 : 0;
    }
    return found;
  }
};

// A script's background job ignores SIGINT, and so would the sweep. The test would then wait for an engine that hangs.
class HeededSigint {
 public:
  HeededSigint() : before_(std::signal(SIGINT, SIG_DFL)) {}
  ~HeededSigint() { std::signal(SIGINT, before_); }

 private:
  void (*before_)(int);
};

class SweepOverFakeEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.execution.runs = scratch_ / "runs";
    options_.execution.launcher = {.engine = {PERFBENCH_FAKE_ENGINE}, .mpirun = find_mpirun(), .cores = 2};
    options_.execution.sweep_id = "test";
  }

  Cell cell(FakeBehaviour behaviour, std::int64_t repeats = 1) const {
    Cell out{.matrix = "test", .repeats = repeats};
    out.run = example_spec();
    out.run.steps = 3;
    out.run.seed = static_cast<std::int64_t>(behaviour);
    out.label = "seed=" + std::to_string(out.run.seed);
    out.axes = {{"seed", std::to_string(out.run.seed)}};
    out.run_id = run_id(out.run);
    return out;
  }
  SweepSummary sweep(const std::vector<Cell>& cells) { return run_sweep(cells, options_, hooks_, interruption_); }
  std::vector<AttemptState> states(const SweepSummary& summary) const {
    std::vector<AttemptState> out;
    for (const auto& attempt : summary.attempts) out.push_back(attempt.record.state);
    return out;
  }

  ScratchFolder scratch_;
  HeededSigint heeded_;
  Interruption interruption_;
  SweepOptions options_;
  FakeStore store_;
  SweepHooks hooks_{.plan = [](const Cell&) { return CellPlan{}; },
                    .store = [this](const fs::path& dir) { return store_.store(dir); },
                    .stored = [this](const std::string& sweep, const std::string& run,
                                     AttemptState state) { return store_.count(sweep, run, state); }};
};

TEST_F(SweepOverFakeEngine, LeavesACompleteRunDirectoryAndHandsItToTheStore) {
  const auto summary = sweep({cell(FakeBehaviour::ok)});
  EXPECT_TRUE(summary.all_fine());
  ASSERT_EQ(store_.directories.size(), 1U);
  const auto directory = *store_.directories.begin();
  for (const char* file : {kRunFile, kEnvironmentFile, kResultFile, kLogFile, kAttemptFile, "steps.rank0.jsonl"}) {
    EXPECT_TRUE(fs::exists(directory / file)) << file;
  }
  const auto record = read_attempt(directory);
  EXPECT_EQ(record->state, AttemptState::ok);
  EXPECT_EQ(record->axes.at("seed"), "1");
  EXPECT_GT(record->wall_ns, 0);
}

TEST_F(SweepOverFakeEngine, GivesASignWhenAnAttemptBegins) {
  std::vector<RunningSweep> signs;
  hooks_.progressed = [&signs](const RunningSweep& sign) { signs.push_back(sign); };
  sweep({cell(FakeBehaviour::ok), cell(FakeBehaviour::first_ok)});
  ASSERT_EQ(signs.size(), 2U);
  EXPECT_EQ(signs[0].sweep_id, "test");
  EXPECT_EQ(signs[0].matrix, "test");
  EXPECT_EQ(signs[0].attempts, 2);
  EXPECT_EQ(signs[0].finished, 0);
  EXPECT_EQ(signs[0].expected_end_utc, "") << "nothing has finished";
  EXPECT_EQ(signs[1].finished, 1);
  EXPECT_GE(signs[1].expected_end_utc, signs[1].sign_utc);
  EXPECT_EQ(signs[1].cell, cell(FakeBehaviour::first_ok).label);
  EXPECT_EQ(signs[1].begun_utc, signs[0].begun_utc);
}

TEST_F(SweepOverFakeEngine, GoesOnAfterAFailure) {
  const auto summary =
      sweep({cell(FakeBehaviour::segfault), cell(FakeBehaviour::partial_records), cell(FakeBehaviour::first_ok)});
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::crashed, AttemptState::quarantined, AttemptState::ok));
  EXPECT_FALSE(summary.all_fine());
}

TEST_F(SweepOverFakeEngine, ADivergedRunSaysWhereItsLossAndGradientsBecameNonFinite) {
  const auto summary = sweep({cell(FakeBehaviour::diverge), cell(FakeBehaviour::first_ok)});
  ASSERT_EQ(summary.attempts.size(), 2U);
  const auto& record = summary.attempts[0].record;
  EXPECT_EQ(spec::enum_name(record.state), "diverged");
  EXPECT_EQ(record.reason, "the loss became infinite at step 1; the gradient norm became NaN at step 1");
  EXPECT_EQ(record.exit_code, 0);
  EXPECT_EQ(summary.attempts[1].record.state, AttemptState::ok);
  EXPECT_FALSE(summary.all_fine());
}

TEST_F(SweepOverFakeEngine, KeepsARunWithFiniteLossesAndNotesThatItsGradientsWereNot) {
  const auto summary = sweep({cell(FakeBehaviour::large_gradient)});
  EXPECT_EQ(summary.attempts[0].record.state, AttemptState::ok);
  EXPECT_EQ(summary.attempts[0].record.reason, "the gradient norm became infinite at step 1");
  EXPECT_TRUE(summary.all_fine());
}

TEST_F(SweepOverFakeEngine, StopsAtAFailureWhenAskedTo) {
  options_.on_failure = OnFailure::stop;
  const auto summary = sweep({cell(FakeBehaviour::failed), cell(FakeBehaviour::first_ok)});
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::crashed));
  EXPECT_TRUE(summary.stopped_by_failure);
}

TEST_F(SweepOverFakeEngine, RecordsCellsThatItDoesNotExecute) {
  auto excluded = cell(FakeBehaviour::ok);
  excluded.excluded = "known to be slow";
  hooks_.plan = [](const Cell&) { return CellPlan{.infeasible = "needs 90 GiB"}; };
  const auto summary = sweep({excluded, cell(FakeBehaviour::first_ok)});
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::excluded, AttemptState::infeasible));
  EXPECT_TRUE(summary.all_fine());
  EXPECT_EQ(summary.attempts[1].record.reason, "needs 90 GiB");
  EXPECT_FALSE(fs::exists(summary.attempts[1].directory / kLogFile));
}

TEST_F(SweepOverFakeEngine, SpreadsTheRepeatsOfACellOverTheSweep) {
  const auto summary = sweep({cell(FakeBehaviour::ok, 2), cell(FakeBehaviour::first_ok, 2)});
  std::vector<std::string> order;
  for (const auto& attempt : summary.attempts) order.push_back(attempt.record.cell);
  EXPECT_THAT(order, ElementsAre("seed=1", "seed=100", "seed=1", "seed=100"));
}

TEST_F(SweepOverFakeEngine, ResumesWithTheMissingAttempts) {
  const auto done = cell(FakeBehaviour::ok);
  auto half_done = cell(FakeBehaviour::first_ok);
  const auto failed = cell(FakeBehaviour::failed);
  sweep({done, half_done, failed});
  half_done.repeats = 3;
  options_.scope = Scope::unfinished_cells;
  const auto summary = sweep({done, half_done, failed});
  EXPECT_EQ(summary.cells_already_done, 1);
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::ok, AttemptState::crashed, AttemptState::ok));
}

// Runs that an earlier sweep finished do not count for the sweep that was killed.
TEST_F(SweepOverFakeEngine, ResumesARepeatedSweepThatWasKilled) {
  auto one = cell(FakeBehaviour::ok);
  options_.execution.sweep_id = "earlier";
  sweep({one, one, one});
  options_.execution.sweep_id = "killed";
  options_.execution.repeats = 3;
  one.repeats = 1;
  sweep({one});
  const auto killed = *std::prev(store_.directories.end());
  fs::remove_all(killed);
  store_.directories.erase(killed);
  options_.scope = Scope::unfinished_cells;
  options_.execution.repeats = 0;
  options_.execution.sweep_id = "new";
  hooks_.resumed = [] { return ResumedSweep{.sweep_id = "killed", .repeats = 3}; };
  for (const auto* broken : {"", "database is locked"}) {
    store_.broken = broken;
    const auto summary = sweep({one});
    EXPECT_EQ(summary.sweep_id, "killed");
    ASSERT_EQ(summary.attempts.size(), *broken == 0 ? 1U : 0U);
  }
}

TEST_F(SweepOverFakeEngine, AnObstacleOfAResumedSweepMattersWhereSomethingIsMissing) {
  const auto done = cell(FakeBehaviour::ok);
  sweep({done});
  options_.scope = Scope::unfinished_cells;
  hooks_.resumed = [] { return ResumedSweep{.sweep_id = "test", .obstacle = "another engine"}; };
  EXPECT_EQ(sweep({done}).cells_already_done, 1);
  EXPECT_THROW(sweep({done, cell(FakeBehaviour::first_ok)}), InputError);
  EXPECT_EQ(store_.directories.size(), 1U);
}

TEST_F(SweepOverFakeEngine, ResumeDoesNotRepeatCellsThatNeedNoExecution) {
  auto excluded = cell(FakeBehaviour::ok);
  excluded.excluded = "known to be slow";
  sweep({excluded});
  options_.scope = Scope::unfinished_cells;
  EXPECT_TRUE(sweep({excluded}).attempts.empty());
}

TEST_F(SweepOverFakeEngine, ResumeStoresAttemptsThatWereMissed) {
  sweep({cell(FakeBehaviour::ok)});
  store_.directories.clear();
  options_.scope = Scope::unfinished_cells;
  EXPECT_TRUE(sweep({cell(FakeBehaviour::ok)}).attempts.empty());
  EXPECT_EQ(store_.directories.size(), 1U);
}

TEST_F(SweepOverFakeEngine, ExecutesInterruptedOrDamagedAttemptsAgain) {
  const auto one = cell(FakeBehaviour::ok);
  create_attempt(options_.execution.runs, one.run_id);
  const auto damaged = create_attempt(options_.execution.runs, one.run_id);
  std::ofstream(damaged.path / kAttemptFile) << "{";
  store_.broken = "cannot read the store";
  options_.scope = Scope::unfinished_cells;
  const auto summary = sweep({one});
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::ok));
  EXPECT_EQ(summary.attempts[0].record.attempt, 3);
}

TEST_F(SweepOverFakeEngine, KeepsItsEvidenceWhenTheStoreFails) {
  store_.broken = "database is read-only";
  const auto summary = sweep({cell(FakeBehaviour::ok), cell(FakeBehaviour::first_ok)});
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::ok, AttemptState::ok));
  EXPECT_FALSE(summary.all_fine());
  EXPECT_EQ(summary.not_stored.size(), 2U);
  EXPECT_THAT(summary.store_error, HasSubstr("read-only"));
  const auto files = std::filesystem::recursive_directory_iterator(options_.execution.runs);
  EXPECT_EQ(std::count_if(begin(files), end(files), [](const auto& f) { return f.path().filename() == kAttemptFile; }),
            2);
}

TEST_F(SweepOverFakeEngine, ResumesByItsRunDirectoriesWhenTheStoreFails) {
  store_.broken = "database is locked";
  sweep({cell(FakeBehaviour::ok)});
  options_.scope = Scope::unfinished_cells;
  EXPECT_TRUE(sweep({cell(FakeBehaviour::ok)}).attempts.empty());
}

TEST_F(SweepOverFakeEngine, ADamagedLeftoverIsNotAFailureOfTheStore) {
  const auto one = cell(FakeBehaviour::ok);
  const auto damaged = create_attempt(options_.execution.runs, one.run_id);
  write_atomically(damaged.path / kAttemptFile, to_json_line({.run_id = one.run_id, .state = AttemptState::ok}));
  hooks_.store = [&](const fs::path& directory) {
    if (directory == damaged.path) throw InputError("[ingest] no steps in " + directory.string());
    return store_.store(directory);
  };
  options_.scope = Scope::unfinished_cells;
  const auto summary = sweep({one});
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::ok));
  EXPECT_TRUE(summary.all_fine()) << summary.store_error;
}

TEST_F(SweepOverFakeEngine, AnEngineThatCannotStartIsACrashedAttempt) {
  auto two_ranks = cell(FakeBehaviour::ok);
  two_ranks.run.mesh.ici.dp = 2;
  two_ranks.run_id = run_id(two_ranks.run);
  options_.execution.launcher.mpirun.reset();
  const auto summary = sweep({two_ranks, cell(FakeBehaviour::first_ok)});
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::crashed, AttemptState::ok));
  EXPECT_THAT(summary.attempts[0].record.reason, HasSubstr("need mpirun"));
}

TEST_F(SweepOverFakeEngine, AnAttemptWhoseRecordsTheStoreFindsDamagedIsCrashed) {
  store_.spoiled = "steps.rank0.jsonl is damaged from line 2 on";
  const auto summary = sweep({cell(FakeBehaviour::ok)});
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::crashed));
  EXPECT_EQ(summary.attempts[0].record.reason, store_.spoiled);
  EXPECT_EQ(summary.states.at(AttemptState::crashed), 1);
  EXPECT_FALSE(summary.all_fine());
}

TEST(Interruption, LeavesIgnoredSignalsIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    Interruption interruption;
    raise(SIGHUP);  // as when the terminal of a nohup job closes
    EXPECT_FALSE(interruption.take());
    raise(SIGTERM);
    EXPECT_TRUE(interruption.take());
  }
  std::signal(SIGHUP, before);
}

TEST_F(SweepOverFakeEngine, StartsNothingOnceInterrupted) {
  kill(getpid(), SIGINT);
  const auto summary = sweep({cell(FakeBehaviour::ok)});
  EXPECT_TRUE(summary.cancelled);
  EXPECT_TRUE(summary.attempts.empty());
}

TEST_F(SweepOverFakeEngine, EndsTheRunningCellAsCancelledAndStopsWhenInterrupted) {
  setenv("PERFBENCH_FAKE_INTERRUPTS", std::to_string(getpid()).c_str(), 1);
  const auto summary = sweep({cell(FakeBehaviour::hang), cell(FakeBehaviour::first_ok)});
  unsetenv("PERFBENCH_FAKE_INTERRUPTS");
  EXPECT_THAT(states(summary), ElementsAre(AttemptState::cancelled));
  EXPECT_TRUE(summary.cancelled);
  EXPECT_THAT(summary.attempts[0].record.reason, HasSubstr("after 1 of 3 steps"));
}

}  // namespace
}  // namespace perfbench::harness
