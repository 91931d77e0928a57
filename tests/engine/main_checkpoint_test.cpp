// Checkpoints of perfbench-engine as a program: the contents of its records, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/engine_runs.h"
#include "tests/engine/example_runs.h"

namespace perfbench::engine {
namespace {

using testing::HasSubstr;

class CheckpointsOfAnEngine : public testing::Test {
 protected:
  EngineRuns runs_{PERFBENCH_ENGINE_FILE};
};

TEST_F(CheckpointsOfAnEngine, ReportTheirCostsAndWhereARunResumed) {
  auto run = gpt_tiny();
  run.steps = 5;
  run.checkpoint.every_steps = 2;
  const auto first = runs_.run("first", run);
  ASSERT_EQ(records_of(first).size(), 5U) << runs_.said();
  for (const auto& record : records_of(first)) {
    EXPECT_EQ(record.checkpoint_ns > 0, record.step == 1 || record.step == 3);
    EXPECT_EQ(record.wall_ns, record.data_ns + record.forward_ns + record.backward_ns + record.exposed_comm_ns +
                                  record.bubble_ns + record.optimizer_ns + record.other_ns + record.checkpoint_ns);
  }
  const auto saved = summary_of(first).checkpoint;
  EXPECT_EQ(saved.saves, 2);
  EXPECT_EQ(saved.bytes, 12 * summary_of(first).parameters);
  EXPECT_GT(saved.save_ns, 0);
  EXPECT_EQ(saved.restore_ns, 0);

  run.checkpoint = {.restore = (first / "checkpoints").string()};
  const auto second = runs_.run("second", run);
  ASSERT_EQ(records_of(second).size(), 5U) << runs_.said();
  EXPECT_EQ(records_of(second).front().step, 4);
  EXPECT_EQ(records_of(second).front().loss, records_of(first).back().loss);
  EXPECT_EQ(summary_of(second).checkpoint.first_step, 4);
  EXPECT_GT(summary_of(second).checkpoint.restore_ns, 0);
  EXPECT_EQ(summary_of(second).checkpoint.saves, 0);
}

TEST_F(CheckpointsOfAnEngine, AFolderWithALaterCheckpointIsRefused) {
  auto run = gpt_tiny();
  run.checkpoint.every_steps = 3;
  run.checkpoint.path = (runs_ / "shared").string();
  runs_.run("first", run);
  const auto second = runs_.run("second", run);
  EXPECT_EQ(summary_of(second).status, "input_error");
  EXPECT_THAT(summary_of(second).message,
              HasSubstr("step_00000003 is from a later step than the first one of this run, 0"));
}

}  // namespace
}  // namespace perfbench::engine
