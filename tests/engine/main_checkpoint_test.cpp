// Checkpoints of perfbench-engine as a program: what its records say, and that it can be killed at any moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_files.h"
#include "tests/engine/engine_program.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/random_runs.h"
#include "tests/engine/scratch_folder.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<spec::StepRecord> records(const fs::path& folder) {
  std::ifstream in(folder / "steps.rank0.jsonl");
  std::vector<spec::StepRecord> all;
  for (std::string line; std::getline(in, line);) {
    if (in.eof()) break;  // cut off
    all.push_back(spec::parse_step_record(line));
  }
  return all;
}

class CheckpointsOfAnEngine : public testing::Test {
 protected:
  fs::path run_engine(const std::string& name, const spec::RunSpec& run, std::vector<std::string> command = {}) {
    const auto folder = scratch_ / name;
    fs::remove_all(folder);
    fs::create_directories(folder);
    std::ofstream(folder / "run.json") << spec::canonical_json(run);
    for (const auto& word :
         {std::string(PERFBENCH_ENGINE_FILE), std::string("run"), std::string("--dir"), folder.string()}) {
      command.push_back(word);
    }
    said_ = lines_of_program(std::move(command));
    return folder;
  }
  std::string said() const { return testing::PrintToString(said_); }
  static spec::RunSummary summary(const fs::path& folder) {
    std::ifstream in(folder / "result.json");
    return spec::parse_run_summary(std::string(std::istreambuf_iterator<char>(in), {}));
  }

  ScratchFolder scratch_;
  std::vector<std::string> said_;
};

TEST_F(CheckpointsOfAnEngine, SayWhatTheyCostAndWhereARunWentOn) {
  auto run = gpt_tiny();
  run.steps = 5;
  run.checkpoint.every_steps = 2;
  const auto first = run_engine("first", run);
  ASSERT_EQ(records(first).size(), 5U) << said();
  for (const auto& record : records(first)) {
    EXPECT_EQ(record.checkpoint_ns > 0, record.step == 1 || record.step == 3);
    EXPECT_EQ(record.wall_ns, record.data_ns + record.forward_ns + record.backward_ns + record.exposed_comm_ns +
                                  record.bubble_ns + record.optimizer_ns + record.other_ns + record.checkpoint_ns);
  }
  const auto saved = summary(first).checkpoint;
  EXPECT_EQ(saved.saves, 2);
  EXPECT_EQ(saved.bytes, 12 * summary(first).parameters);
  EXPECT_GT(saved.save_ns, 0);
  EXPECT_EQ(saved.restore_ns, 0);

  run.checkpoint = {.restore = (first / "checkpoints").string()};
  const auto second = run_engine("second", run);
  ASSERT_EQ(records(second).size(), 5U) << said();
  EXPECT_EQ(records(second).front().step, 4);
  EXPECT_EQ(records(second).front().loss, records(first).back().loss);
  EXPECT_EQ(summary(second).checkpoint.first_step, 4);
  EXPECT_GT(summary(second).checkpoint.restore_ns, 0);
  EXPECT_EQ(summary(second).checkpoint.saves, 0);
}

TEST_F(CheckpointsOfAnEngine, AFolderWithALaterCheckpointIsRefused) {
  auto run = gpt_tiny();
  run.checkpoint.every_steps = 3;
  run.checkpoint.path = (scratch_ / "shared").string();
  run_engine("first", run);
  const auto second = run_engine("second", run);
  EXPECT_EQ(summary(second).status, "input_error");
  EXPECT_THAT(summary(second).message, HasSubstr("step_00000003 is of a later step than the run begins with, 0"));
}

// A system call at whose n-th begin in a thread the process is killed. A save's thread makes some 200 of them; the
// main thread writes a line of its records a step, beside what the thread does at that time.
struct Kill {
  std::string call;  // as strace names it, or those that fit
  std::int64_t most = 1;
};

bool may_trace() {
  return lines_of_program({"/usr/bin/strace", "-qq", "-e", "trace=none", "/bin/true"}).empty();
}

TEST_F(CheckpointsOfAnEngine, KilledAtAnyMomentGoOnFromTheLastWholeOne) {
  if (!may_trace()) GTEST_SKIP() << "skipped: strace, which kills at a system call, cannot run here";
  constexpr int kKills = 50;
  auto run = gpt_tiny();
  run.steps = 400;
  run.threads_per_rank = 1;
  const auto in_one_go = records(run_engine("in one go", run));
  ASSERT_EQ(in_one_go.size(), 400U) << said();
  const auto folder = scratch_ / "checkpoints";
  const std::vector<Kill> kills{{"write", 150}, {"fsync", 5}, {"/^rename", 4}, {"/^unlink|^rmdir", 6}, {"/^mkdir", 1}};
  Draws draws(50);
  int killed = 0;
  std::int64_t step = 0;
  for (int attempt = 0; killed < kKills; ++attempt) {
    ASSERT_LT(attempt, 4 * kKills);
    run.steps = 4;
    run.checkpoint = {.every_steps = 1, .keep = 2, .path = folder.string()};
    if (!whole_checkpoints(folder).empty()) run.checkpoint.restore = folder.string();
    const auto& kill = kills[static_cast<std::size_t>(draws.number(0, std::ssize(kills) - 1))];
    const std::string when = std::to_string(draws.number(1, kill.most));
    const auto attempted = run_engine("attempt", run,
                                      {"/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + kill.call,
                                       "-e", "inject=" + kill.call + ":signal=SIGKILL:when=" + when});
    if (!fs::exists(attempted / "result.json")) ++killed;
    SCOPED_TRACE("attempt " + std::to_string(attempt) + ": " + kill.call + " " + when + ", says " + said());
    // It began where the last whole one was, and computed what a run would that nothing had happened to.
    std::int64_t next = step;
    for (const auto& record : records(attempted)) {
      ASSERT_EQ(record.step, next++);
      ASSERT_EQ(record.loss, in_one_go[static_cast<std::size_t>(record.step)].loss);
    }
    const auto whole = whole_checkpoints(folder);
    for (const auto& checkpoint : whole) {
      const auto contents = read_contents(checkpoint);
      for (const auto& part : contents.shards.front().parts) read_part(contents, 0, part);
    }
    const std::int64_t newest = whole.empty() ? 0 : whole.back().step;
    ASSERT_GE(newest, step);  // nothing that was whole is lost
    step = newest;
  }
  EXPECT_GT(step, kKills / 4);  // many were killed behind a whole one
}

}  // namespace
}  // namespace perfbench::engine
