// A rank of a pipeline that fails while the others wait for it, with messages under way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/execute/process.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;

// The last stage runs out of memory in the third step. All ranks end then, with its reason, and none has to wait for a
// time-out. B fails in every pair, so the comparison continues until that cannot be chance.
TEST(FailingStage, EndsTheRunWithItsReason) {
  const ScratchFolder scratch;
  write_text(scratch / "stages.yaml",
             "name: stages\n"
             "defaults: {model: gpt-tiny, seq_len: 16, global_batch: 4, grad_accum: 4, steps: 12, pp: 2, "
             "threads_per_rank: 1}\n");
  const auto end =
      run_process({.command = {std::string(PERFBENCH_BINARY_DIR) + "/bin/perfbench", "compare", "--ab", "current",
                               "inject:out_of_memory:loss=10", "stages.yaml", "--pairs", "2", "--pairing", "apart"},
                   .working_dir = scratch.path(),
                   .environment = {{"PERFBENCH_DATA_DIR", PERFBENCH_SOURCE_DIR}}});
  EXPECT_EQ(end.exit_code, 1) << end.output << end.error_output;
  EXPECT_THAT(
      end.output,
      HasSubstr("out_of_memory: the engine ran out of memory after 2 of 12 steps: out of memory: injected at loss 10"));
}

}  // namespace
}  // namespace perfbench::harness
