// A run of perfbench-engine that saves and is killed twenty times: each time it resumes from the last whole checkpoint.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_files.h"
#include "tests/engine/engine_runs.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/random_runs.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;

class KilledRuns : public testing::Test {
 protected:
  EngineRuns runs_{PERFBENCH_ENGINE_FILE};
};

// The process is killed at the n-th call of a certain system call in a thread. The thread of a save makes some 200 of
// them; the main thread writes a line of its records each step, in parallel with that thread.
struct Kill {
  std::string call;  // by strace's name, or a pattern
  std::int64_t most = 1;
};

bool may_trace() {
  return lines_of_program({"/usr/bin/strace", "-qq", "-e", "trace=none", "/bin/true"}).empty();
}

TEST_F(KilledRuns, ResumeFromTheLastWholeCheckpointWheneverTheyWereKilled) {
  if (!may_trace()) GTEST_SKIP() << "skipped: strace, which kills at a system call, cannot run here";
  constexpr int kKills = 20;
  auto run = gpt_tiny();
  run.steps = 400;
  run.threads_per_rank = 1;
  const auto in_one_go = records_of(runs_.run("in one go", run));
  ASSERT_EQ(in_one_go.size(), 400U) << runs_.said();
  const auto folder = runs_ / "checkpoints";
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
    const auto attempted = runs_.run("attempt", run,
                                     {"/usr/bin/strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + kill.call,
                                      "-e", "inject=" + kill.call + ":signal=SIGKILL:when=" + when});
    if (!fs::exists(attempted / "result.json")) ++killed;
    SCOPED_TRACE("attempt " + std::to_string(attempt) + ": " + kill.call + " " + when + ", says " + runs_.said());
    // It began at the last whole checkpoint, and computed what an undisturbed run computes.
    std::int64_t next = step;
    for (const auto& record : records_of(attempted)) {
      ASSERT_EQ(record.step, next++);
      ASSERT_EQ(record.loss, in_one_go[static_cast<std::size_t>(record.step)].loss);
    }
    const auto whole = whole_checkpoints(folder);
    for (const auto& checkpoint : whole) {
      const auto contents = read_contents(checkpoint);
      for (const auto& part : contents.shards.front().parts) read_part(contents, 0, part);
    }
    const std::int64_t newest = whole.empty() ? 0 : whole.back().step;
    ASSERT_GE(newest, step);  // no whole checkpoint is lost
    step = newest;
  }
  EXPECT_GT(step, kKills / 4);  // many runs were killed after a whole checkpoint
}

}  // namespace
}  // namespace perfbench::engine
