// The division of a step's time: events written by hand, sums computed by hand.
#include "harness/trace/trace_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "harness/trace/activities.h"
#include "tests/harness/trace/made_up_trace.h"

namespace perfbench::harness {
namespace {

using spec::TraceKind;
using testing::SizeIs;

std::int64_t sum_of_parts(const TraceSummary& s) {
  return s.gemm_ns + s.attention_ns + s.norm_ns + s.elementwise_ns + s.optimizer_ns + s.other_ns + s.copy_ns +
         s.exposed_comm_ns + s.idle_dependency_ns + s.idle_host_ns;
}

TraceSummary summary_of_step(const MadeUpTrace& made) {
  const auto all = summarise(made.trace());
  EXPECT_THAT(all, SizeIs(1));
  EXPECT_EQ(sum_of_parts(all.front()), all.front().wall_ns);
  return all.front();
}

TEST(TraceSummary, CountsWhatTheHostExecutesByItsOperations) {
  MadeUpTrace made;
  made.step(5, 1000, 2000)
      .host(TraceKind::phase, "data", 1000, 1050)
      .host(TraceKind::copy, "upload", 1010, 1030)
      .host(TraceKind::phase, "forward", 1050, 1600)
      .host(TraceKind::range, "layers.0", 1050, 1600)
      .host(TraceKind::op, "norm_forward", 1060, 1100)
      .host(TraceKind::op, "matmul", 1100, 1300)
      .host(TraceKind::op, "attention_forward", 1310, 1400)
      .host(TraceKind::op, "add", 1400, 1405)
      .host(TraceKind::phase, "optimizer", 1700, 2000)
      .host(TraceKind::op, "sum_of_squares", 1700, 1710)
      .host(TraceKind::op, "adamw", 1710, 1900);
  const auto s = summary_of_step(made);
  EXPECT_EQ(s.step, 5);
  EXPECT_EQ(s.wall_ns, 1000);
  EXPECT_EQ(s.copy_ns, 20);
  EXPECT_EQ(s.norm_ns, 40);
  EXPECT_EQ(s.gemm_ns, 200);
  EXPECT_EQ(s.attention_ns, 90);
  EXPECT_EQ(s.elementwise_ns, 5);
  EXPECT_EQ(s.optimizer_ns, 200);  // the norm of the gradients belongs to the optimizer
  EXPECT_EQ(s.idle_host_ns, 1000 - 20 - 40 - 200 - 90 - 5 - 200);
  EXPECT_EQ(s.idle_dependency_ns, 0);
  EXPECT_EQ(s.other_ns, 0);
}

TEST(TraceSummary, ACollectiveIsExposedOnlyWhileNothingIsComputed) {
  MadeUpTrace made;
  made.step(0, 0, 1000)
      .host(TraceKind::submit, "all_gather", 0, 10, 1)
      .host(TraceKind::op, "matmul", 100, 400)
      .host(TraceKind::phase, "exposed_comm", 400, 700)
      .host(TraceKind::op, "add", 700, 1000)
      .collective("all_gather", 60, 600, 1);
  const auto s = summary_of_step(made);
  EXPECT_EQ(s.collective_ns, 540);
  EXPECT_EQ(s.exposed_comm_ns, 40 + 200);  // before the product and after it
  EXPECT_EQ(s.gemm_ns, 300);
  EXPECT_EQ(s.elementwise_ns, 300);
  // Submitted at 10, begun at 60: it waited for the thread. After it, from 600 to 700, nothing waits.
  EXPECT_EQ(s.idle_dependency_ns, 50);
  EXPECT_EQ(s.idle_host_ns, 10 + 100);
}

// Two streams: products on one, an attention and a collective on the other; on the host the calls that launch them.
MadeUpTrace gpu_step() {
  MadeUpTrace made;
  made.step(3, 0, 1000)
      .host(TraceKind::op, "matmul", 0, 20)
      .host(TraceKind::host_call, "cudaLaunchKernel", 5, 15, 101)
      .host(TraceKind::op, "attention_forward", 20, 40)
      .host(TraceKind::host_call, "cudaLaunchKernel", 25, 30, 102)
      .host(TraceKind::submit, "reduce_scatter", 40, 60, 1)
      .host(TraceKind::host_call, "cudaLaunchKernelExC", 45, 50, 103)
      .host(TraceKind::phase, "optimizer", 500, 600)
      .host(TraceKind::op, "sum_of_squares", 500, 520)
      .host(TraceKind::host_call, "cudaLaunchKernel", 505, 510, 104)
      // Its name says nothing, but the span of its launch does.
      .device(TraceKind::kernel, "void k1(float*)", 7, 20, 220, 101)
      // Overlaps the product by 100: a product takes precedence.
      .device(TraceKind::kernel, "void k2(float*)", 13, 120, 320, 102)
      // Waits until 400 for its input, although it was launched at 50.
      .device(TraceKind::kernel, "ncclDevKernel_ReduceScatter", 13, 400, 480, 103)
      // Launched only after the host had done something else.
      .device(TraceKind::kernel, "void k3(float*)", 7, 530, 560, 104)
      .device(TraceKind::copy, "", 7, 560, 570)
      .device(TraceKind::kernel, "sm90_xmma_gemm_f32", 7, 600, 700)  // its call is unknown, so its name decides
      .device(TraceKind::kernel, "mystery", 7, 990, 1100);           // continues after the step
  return made;
}

// One call submits a whole step; the replayed kernels carry their operation themselves.
TEST(TraceSummary, SortsReplayedWorkByTheOperationAndPhaseThatRecordedIt) {
  MadeUpTrace made;
  made.step(3, 0, 1000)
      .host(TraceKind::host_call, "cudaGraphLaunch", 5, 15, 101)
      .device(TraceKind::kernel, "k1", 7, 20, 220, 101)
      .device(TraceKind::kernel, "k2", 7, 250, 350, 101);
  auto& events = made.trace().events;
  events[events.size() - 2].name = "sum_of_squares";
  events[events.size() - 2].phase = "forward";
  events.back().name = "sum_of_squares";
  events.back().phase = "optimizer";
  const auto s = summary_of_step(made);
  EXPECT_EQ(s.elementwise_ns, 200);
  EXPECT_EQ(s.optimizer_ns, 100);
  EXPECT_EQ(s.idle_dependency_ns, 5 + 30);  // once the call has returned, nothing waits for the host
}

TEST(TraceSummary, FollowsKernelsToTheSpansThatSubmittedThem) {
  const auto s = summary_of_step(gpu_step());
  EXPECT_EQ(s.gemm_ns, 200 + 100);
  EXPECT_EQ(s.attention_ns, 100);
  EXPECT_EQ(s.exposed_comm_ns, 80);
  EXPECT_EQ(s.collective_ns, 80);
  EXPECT_EQ(s.optimizer_ns, 30);
  EXPECT_EQ(s.elementwise_ns, 0);
  EXPECT_EQ(s.copy_ns, 10);
  EXPECT_EQ(s.other_ns, 10);
}

TEST(TraceSummary, AGapCountsToTheHostUnlessSubmittedWorkWaits) {
  const auto s = summary_of_step(gpu_step());
  // [15, 20): launched, not begun. [320, 400): the collective waits. [510, 530): launched, not begun.
  EXPECT_EQ(s.idle_dependency_ns, 5 + 80 + 20);
  // [0, 15), [480, 510), [570, 600), [700, 990): the host had not submitted anything.
  EXPECT_EQ(s.idle_host_ns, 15 + 30 + 30 + 290);
}

TEST(TraceSummary, OperationsOfTheHostBesideADeviceAreSubmissions) {
  MadeUpTrace made;
  made.step(0, 0, 100)
      .host(TraceKind::op, "matmul", 0, 50)
      .host(TraceKind::copy, "upload", 50, 60)
      .device(TraceKind::kernel, "void k(float*)", 7, 90, 100);
  const auto s = summary_of_step(made);
  EXPECT_EQ(s.gemm_ns, 0);
  EXPECT_EQ(s.copy_ns, 0);
  EXPECT_EQ(s.other_ns, 10);
  EXPECT_EQ(s.idle_host_ns, 90);
}

TEST(TraceSummary, HasARowPerStepAndRankAndForgetsWhatLiesBetween) {
  MadeUpTrace made(4);
  made.step(7, 0, 100).host(TraceKind::op, "matmul", 50, 130);
  made.step(8, 120, 200).host(TraceKind::op, "add", 140, 150);
  made.trace().end.dropped_records = 3;
  const auto all = summarise(std::vector{made.trace(), made.trace()});
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].rank, 4);
  EXPECT_EQ(all[0].step, 7);
  EXPECT_EQ(all[0].gemm_ns, 50);
  EXPECT_EQ(all[1].step, 8);
  EXPECT_EQ(all[1].gemm_ns, 10);
  EXPECT_EQ(all[1].elementwise_ns, 10);
  EXPECT_EQ(all[1].idle_host_ns, 60);
  EXPECT_EQ(all[1].dropped_records, 3);
}

// For any events, the parts sum to the step, none is negative, and no list takes long.
TEST(TraceSummary, PartsSumToTheStepWhateverTheEvents) {
  std::mt19937 random(20240607);
  const auto below = [&random](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  for (int round = 0; round < 300; ++round) {
    MadeUpTrace made;
    made.step(0, 200, 200 + below(800));
    for (std::int64_t i = below(60); i > 0; --i) {
      const auto kind = spec::EnumNames<TraceKind>::kNames[1 + static_cast<std::size_t>(below(9))].first;
      const auto start = below(1200);
      const auto end = start + below(200);
      if (round % 2 == 0 && below(2) == 0) {
        made.device(kind, "gemm", below(3), start, end, below(5));
      } else {
        made.host(kind, std::string(spec::EnumNames<spec::TraceOp>::kNames[static_cast<std::size_t>(below(23))].second),
                  start, end, below(5));
      }
    }
    const auto s = summary_of_step(made);
    EXPECT_LE(s.exposed_comm_ns, s.collective_ns);
    auto check = [](const spec::Field& field, const std::int64_t& value) { EXPECT_GE(value, 0) << field.name; };
    TraceSummary::fields(s, check);
  }
}

TEST(TraceSummary, AHundredThousandNestedSpansAreAsFastAsSequentialOnes) {
  MadeUpTrace made;
  constexpr std::int64_t kSpans = 100'000;
  made.step(0, 0, 2 * kSpans);
  for (std::int64_t i = 0; i < kSpans; ++i) made.host(TraceKind::op, "matmul", i, 2 * kSpans - i);
  EXPECT_EQ(summary_of_step(made).gemm_ns, 2 * kSpans);
}

}  // namespace
}  // namespace perfbench::harness
