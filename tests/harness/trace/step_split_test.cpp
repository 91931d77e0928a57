// A step divided by what ran: names and phases; overlapping work counts once.
#include "harness/trace/step_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/harness/trace/made_up_trace.h"

namespace perfbench::harness {
namespace {

using spec::TraceKind;
using testing::SizeIs;

std::int64_t share(const StepSplit& split, const std::string& name, const std::string& phase) {
  std::int64_t ns = 0;
  for (const auto& entry : split.shares) {
    if (entry.name == name && entry.phase == phase) ns += entry.ns;
  }
  return ns;
}

StepSplit only_step(const MadeUpTrace& made) {
  const auto all = split_steps(made.trace());
  EXPECT_THAT(all, SizeIs(1));
  const auto& shares = all.front().shares;
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), std::int64_t{0},
                            [](std::int64_t sum, const StepShare& entry) { return sum + entry.ns; }),
            all.front().wall_ns);
  return all.front();
}

TEST(StepSplit, TellsOneOperationInTwoPhasesApart) {
  MadeUpTrace made;
  made.step(0, 0, 100)
      .host(TraceKind::phase, "forward", 0, 40)
      .host(TraceKind::op, "matmul", 0, 30)
      .host(TraceKind::phase, "backward", 40, 100)
      .host(TraceKind::op, "matmul", 40, 90);
  const auto split = only_step(made);
  EXPECT_EQ(share(split, "matmul", "forward"), 30);
  EXPECT_EQ(share(split, "matmul", "backward"), 50);
  EXPECT_EQ(share(split, "", ""), 20);  // idle
}

TEST(StepSplit, NamesADevicesKernelsByTheSpanThatSubmittedThem) {
  MadeUpTrace made;
  made.step(0, 0, 100)
      .host(TraceKind::phase, "backward", 0, 20)
      .host(TraceKind::op, "norm_backward", 0, 10)
      .host(TraceKind::host_call, "cudaLaunchKernel", 2, 4, 7)
      .device(TraceKind::kernel, "void kernel_of_ours()", 1, 30, 60, 7)
      .device(TraceKind::kernel, "void stranger()", 1, 60, 70);
  const auto split = only_step(made);
  EXPECT_EQ(share(split, "norm_backward", "backward"), 30);
  EXPECT_EQ(share(split, "void stranger()", ""), 10);
}

// Submissions and calls are numbered separately: submission 7 is another collective's.
TEST(StepSplit, ACollectiveOfADeviceBelongsToTheCallThatStartedIt) {
  MadeUpTrace made;
  made.step(0, 0, 100)
      .host(TraceKind::phase, "forward", 0, 10)
      .host(TraceKind::submit, "all_gather", 0, 8, 7)
      .host(TraceKind::phase, "backward", 10, 40)
      .host(TraceKind::submit, "reduce_scatter", 10, 30, 8)
      .host(TraceKind::host_call, "cudaLaunchKernel", 12, 20, 7)
      .device(TraceKind::collective, "ncclDevKernel", 2, 50, 90, 7);
  const auto split = only_step(made);
  EXPECT_EQ(share(split, "reduce_scatter", "backward"), 40);
  ASSERT_EQ(split.shares.back().part, TracePart::idle_host);
  EXPECT_EQ(split.shares.back().ns, 30) << "until the call has returned, and after the collective";
}

TEST(StepSplit, OverlappingWorkCountsToWhatBeganFirst) {
  MadeUpTrace made;
  made.step(0, 0, 100)
      .device(TraceKind::kernel, "gemm_late", 2, 20, 80)
      .device(TraceKind::kernel, "gemm_early", 1, 10, 50)
      .collective("all_gather", 0, 100);
  const auto split = only_step(made);
  EXPECT_EQ(share(split, "gemm_early", ""), 40);
  EXPECT_EQ(share(split, "gemm_late", ""), 30);
  EXPECT_EQ(share(split, "all_gather", ""), 30);
  EXPECT_EQ(split.collective_ns, 100);
}

}  // namespace
}  // namespace perfbench::harness
