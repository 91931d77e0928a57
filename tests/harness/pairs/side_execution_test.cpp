#include "harness/pairs/side_execution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "harness/store/queries/series.h"
#include "harness/system/input_error.h"
#include "harness/system/run_id.h"
#include "tests/harness/example_run.h"
#include "tests/harness/fake_engine.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

// Records how often it was started, and whether it was stopped as often.
class FakeCounter : public InstructionCounter {
 public:
  std::string unavailable() const override { return ""; }
  void start() override { ++started_; }
  std::optional<std::int64_t> stop() override { return 1000 * started_; }

 private:
  std::int64_t started_ = 0;
};

class SideExecutionTest : public testing::Test {
 protected:
  SideExecutionTest() {
    cell_.a.run = example_spec();
    cell_.a.run.seed = static_cast<std::int64_t>(fake::FakeBehaviour::first_ok);
    cell_.a.run_id = run_id(cell_.a.run);
    cell_.b = cell_.a;
    cell_.b.run.seed = static_cast<std::int64_t>(fake::FakeBehaviour::failed);
    cell_.b.run_id = run_id(cell_.b.run);
    execution_.a.engine.file = execution_.b.engine.file = PERFBENCH_FAKE_ENGINE;
  }
  SideRun execute(Side side) { return execute_side(execution_, cell_, side); }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");
  FakeCounter counter_;
  AbCell cell_{.label = "cell"};
  SideExecution execution_{.db = &db_,
                           .settings = {.runs = scratch_ / "runs",
                                        .sweep_id = "comparison",
                                        .sweep_kind = SweepKind::comparison,
                                        .perfbench_version = "0"},
                           .instructions = &counter_};
};

TEST_F(SideExecutionTest, StoresEachRunAndGivesItsMetricsAndInstructions) {
  const auto a = execute(Side::a);
  EXPECT_EQ(a.state, AttemptState::ok);
  EXPECT_NEAR(a.metrics.at("step_time_s"), 1e-3, 1e-5);  // the fake engine's value
  EXPECT_EQ(a.instructions, 1000);
  const auto b = execute(Side::b);
  EXPECT_EQ(b.instructions, 2000);
  EXPECT_TRUE(is_failed_run(b));
  const auto stored = load_attempts(db_, {.kind = SelectionKind::sweep, .id = "comparison"});
  ASSERT_EQ(stored.size(), 2U);
  EXPECT_EQ(stored[0].key, a.attempt_key);
}

TEST_F(SideExecutionTest, AMissingEngineFailsItsRun) {
  execution_.b.engine.file = scratch_ / "nothing";
  const auto b = execute(Side::b);
  EXPECT_TRUE(is_failed_run(b));
  EXPECT_THAT(b.reason, HasSubstr("nothing"));
}

TEST_F(SideExecutionTest, RecordsOfAnUnknownKindAreNamedWithTheSide) {
  // The fake engine writes env.json itself, so the wrong one has to be written after it.
  write_text(scratch_ / "odd.sh", "#!/bin/sh\n" + std::string(PERFBENCH_FAKE_ENGINE) +
                                      " \"$@\"\necho '{\"colour\": 1}' > \"$3/env.json\"\n");
  std::filesystem::permissions(scratch_ / "odd.sh", std::filesystem::perms::all);
  execution_.a = {.asked = "v0", .engine = {scratch_ / "odd.sh"}};
  try {
    execute(Side::a);
    FAIL() << "accepted";
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("A (v0): this perfbench does not understand the output of its engine"));
    EXPECT_THAT(e.what(), HasSubstr("colour"));
  }
}

TEST_F(SideExecutionTest, BothInTurnsHaveTheTimesOfEachTurn) {
  cell_.b = cell_.a;
  ExecutedPair pair{.cell = 2, .number = 3, .first = Side::b};
  execute_in_turns(execution_, cell_, 5, pair);
  EXPECT_TRUE(pair.in_turns);
  EXPECT_EQ(pair.a.state, AttemptState::ok) << pair.a.reason;
  EXPECT_EQ(pair.b.state, AttemptState::ok) << pair.b.reason;
  EXPECT_NE(pair.a.attempt_key, pair.b.attempt_key);
  ASSERT_TRUE(pair.step_log_ratio.has_value());
  EXPECT_EQ(*pair.step_log_ratio, 0) << "the same engine, which makes its times up";
}

TEST_F(SideExecutionTest, FindsTheLibrariesOfItsSideFirst) {
  write_text(scratch_ / "engine.sh", "#!/bin/sh\necho \"$LD_LIBRARY_PATH\" >\"$3/path\"\nexec " +
                                         std::string(PERFBENCH_FAKE_ENGINE) + " \"$@\"\n");
  std::filesystem::permissions(scratch_ / "engine.sh", std::filesystem::perms::all);
  execution_.a = {.asked = "then", .engine = {scratch_ / "engine.sh", "/kept/libraries"}};
  std::filesystem::path directory;
  EXPECT_EQ(execute_side(execution_, cell_, Side::a, &directory).state, AttemptState::ok);
  EXPECT_THAT(read_text(directory / "path"), testing::StartsWith("/kept/libraries"));
}

// It hangs in its second turn, so that the other one gets no turn until it has been ended.
TEST_F(SideExecutionTest, ARunThatHangsInItsTurnIsEndedAndTheOtherIsNot) {
  cell_.b.run.seed = static_cast<std::int64_t>(fake::FakeBehaviour::hang);
  cell_.b.run_id = run_id(cell_.b.run);
  execution_.settings.time_limit = std::chrono::seconds(1);
  execution_.settings.grace = std::chrono::milliseconds(1);
  ExecutedPair pair{.cell = 0, .number = 1, .first = Side::a};
  execute_in_turns(execution_, cell_, 5, pair);
  EXPECT_EQ(pair.b.state, AttemptState::timed_out) << pair.b.reason;
  EXPECT_EQ(pair.a.state, AttemptState::ok) << pair.a.reason;
  EXPECT_FALSE(pair.step_log_ratio.has_value());
}

TEST_F(SideExecutionTest, ALedgerGivesBackThePairsItTook) {
  ComparisonRecord comparison{.comparison_id = "comparison", .matrix = "m", .settings = "s", .seed = 9};
  comparison.a.engine = comparison.b.engine = PERFBENCH_FAKE_ENGINE;
  begin_comparison(db_, comparison);
  ExecutedPair pair{.cell = 0, .number = 1, .first = Side::b, .a = execute(Side::a), .b = execute(Side::b)};
  pair.a.load = {.steal_fraction = 0.25, .foreign_fraction = 0.5};
  pair.discard = Discard::failed;
  pair.discarded = "B failed";
  add_pair(db_, comparison.key, "cell", pair);
  ExecutedPair turns{
      .number = 2, .in_turns = true, .step_log_ratio = -0.25, .order_log_effect = 0.125, .a = pair.a, .b = pair.b};
  turns.b.waits = {.cpu_s = 0.5, .wall_s = 2};
  add_pair(db_, comparison.key, "cell", turns);
  const auto found = unfinished_comparison(db_, "s");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->seed, 9U);
  const auto pairs = load_pairs(db_, found->key);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_FALSE(pairs[0].in_turns);
  EXPECT_FALSE(pairs[0].step_log_ratio.has_value());
  EXPECT_TRUE(pairs[1].in_turns);
  EXPECT_EQ(pairs[1].step_log_ratio, -0.25);
  EXPECT_EQ(pairs[1].order_log_effect, 0.125);
  EXPECT_EQ(pairs[1].a.waits.wall_s, 0);
  EXPECT_EQ(pairs[1].b.waits.cpu_s, 0.5);
  EXPECT_EQ(pairs[1].b.waits.wall_s, 2);
  EXPECT_EQ(pairs[0].first, Side::b);
  EXPECT_EQ(pairs[0].discard, Discard::failed);
  EXPECT_EQ(pairs[0].discarded, "B failed");
  EXPECT_EQ(pairs[0].a.metrics, pair.a.metrics);
  EXPECT_EQ(pairs[0].a.load.foreign_fraction, 0.5);
  EXPECT_EQ(pairs[0].a.instructions, pair.a.instructions);
  EXPECT_EQ(pairs[0].b.state, pair.b.state);
  EXPECT_EQ(facts_of_a(db_, "comparison", "cell").at("libraries.oneDNN"), "2.6");
  EXPECT_TRUE(facts_of_a(db_, "comparison", "another").empty());
  finish_comparison(db_, comparison, {{.label = "cell"}});
  EXPECT_FALSE(unfinished_comparison(db_, "s").has_value());
}

// The runs of a comparison are not those of a sweep: a resumed sweep has to make its own, and no night consists of
// them.
TEST_F(SideExecutionTest, ItsAttemptsDoNotFormASweep) {
  execute(Side::a);
  EXPECT_TRUE(load_history(db_, {}).empty());
  EXPECT_FALSE(newest_sweep(db_, cell_.a.matrix).has_value());
  EXPECT_TRUE(load_attempts(db_, Selection{}).empty());
  EXPECT_EQ(load_attempts(db_, {.kind = SelectionKind::all}).size(), 1U);
}

}  // namespace
}  // namespace perfbench::harness
