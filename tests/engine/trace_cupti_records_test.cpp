// Hand-made records of CUPTI, and the events that they become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/trace/cupti_records.h"

namespace perfbench::engine {
namespace {

using spec::TraceKind;
using testing::ElementsAre;

class CuptiRecordsTest : public testing::Test {
 protected:
  template <class Record>
  void add(const Record& record) {
    records_.add(reinterpret_cast<const CUpti_Activity*>(&record));
  }
  void kernel(const char* name, std::uint64_t start, std::uint64_t end, std::uint32_t stream, std::uint32_t id,
              std::uint64_t node = 0) {
    CuptiKernel k{};
    k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    k.name = name;
    k.start = start;
    k.end = end;
    k.deviceId = 2;
    k.streamId = stream;
    k.correlationId = id;
    k.graphNodeId = node;
    add(k);
  }
  void submitted_by(std::uint64_t span, std::uint32_t id,
                    CUpti_ExternalCorrelationKind kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
    CUpti_ActivityExternalCorrelation e{};
    e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    e.externalKind = kind;
    e.externalId = span;
    e.correlationId = id;
    add(e);
  }
  // By default at a time at which nothing else happens.
  std::uint64_t begin_span(const TraceSpan& span, std::string_view phase, std::int64_t at_ns = -1) {
    return records_.begin_span(span, phase, at_ns);
  }
  void end_span(std::int64_t at_ns = -1) { records_.end_span(at_ns); }
  void call(std::uint32_t callback, std::uint64_t start, std::uint64_t end, std::uint32_t id,
            CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_RUNTIME) {
    CUpti_ActivityAPI a{};
    a.kind = kind;
    a.cbid = callback;
    a.start = start;
    a.end = end;
    a.correlationId = id;
    add(a);
  }
  void marker(CUpti_ActivityFlag flag, std::uint64_t at, std::uint32_t id, const char* domain, const char* name,
              std::uint32_t thread = 77) {
    CuptiMarker m{};
    m.kind = CUPTI_ACTIVITY_KIND_MARKER;
    m.flags = flag;
    m.timestamp = at;
    m.id = id;
    m.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    m.objectId.pt.threadId = thread;
    m.domain = domain;
    m.name = name;
    add(m);
  }

  CuptiRecords records_;
};

constexpr auto kStart = CUPTI_ACTIVITY_FLAG_MARKER_START;
constexpr auto kEnd = CUPTI_ACTIVITY_FLAG_MARKER_END;

TEST_F(CuptiRecordsTest, AKernelIsNamedByTheOperationThatSubmittedIt) {
  const auto span = begin_span({.kind = TraceKind::op, .name = "norm_forward"}, "forward");
  kernel("_ZN4cuda11norm_kernelEPf", 100, 160, 7, 41);
  submitted_by(span, 41);  // records come in any order
  const auto events = records_.take(3, 12);
  ASSERT_EQ(events.size(), 1U);
  const auto& e = events[0];
  EXPECT_EQ(e.kind, TraceKind::kernel);
  EXPECT_EQ(e.name, "norm_forward");
  EXPECT_EQ(e.kernel_name, "cuda::norm_kernel(float*)");
  EXPECT_EQ(e.start_ns, 100);
  EXPECT_EQ(e.end_ns, 160);
  EXPECT_EQ(e.device, 2);
  EXPECT_EQ(e.lane, 7);
  EXPECT_EQ(e.correlation, 41);
  EXPECT_EQ(e.rank, 3);
  EXPECT_EQ(e.step, 12);
}

TEST_F(CuptiRecordsTest, AKernelOfNoSpanKeepsItsOwnName) {
  kernel("sm90_xmma_gemm", 1, 2, 7, 5);
  submitted_by(99, 5);  // an unknown id
  kernel("other", 3, 4, 7, 6);
  submitted_by(0, 6, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1);  // from another tool
  const auto events = records_.take(0, 0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].name, "");
  EXPECT_EQ(events[0].kernel_name, "sm90_xmma_gemm");
  EXPECT_EQ(events[1].name, "");
}

TEST_F(CuptiRecordsTest, TheKernelOfACollectiveIsTheCollective) {
  const auto span =
      begin_span({.kind = TraceKind::submit, .name = "all_gather", .axis = "fsdp", .bytes = 4096}, "forward");
  kernel("ncclDevKernel_AllGather", 10, 90, 13, 8);
  submitted_by(span, 8);
  const auto events = records_.take(0, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, TraceKind::collective);
  EXPECT_EQ(events[0].name, "all_gather");
  EXPECT_EQ(events[0].axis, "fsdp");
  EXPECT_EQ(events[0].bytes, 4096);
}

TEST_F(CuptiRecordsTest, TheKernelOfAMessageHasItsHeading) {
  const auto span = begin_span(
      {.kind = TraceKind::submit, .name = "send", .axis = "pp", .bytes = 64, .heading = "onward"}, "forward");
  kernel("ncclDevKernel_SendRecv", 10, 90, 13, 8);
  submitted_by(span, 8);
  const auto events = records_.take(0, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].heading, "onward");
}

TEST_F(CuptiRecordsTest, CopiesAndMemsetsCarryTheirBytes) {
  CuptiCopy copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.bytes = 1 << 20;
  copy.start = 5;
  copy.end = 9;
  copy.streamId = 15;
  add(copy);
  CuptiMemset set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = 64;
  set.start = 1;
  set.end = 2;
  add(set);
  const auto events = records_.take(0, 0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, TraceKind::memset);  // by start
  EXPECT_EQ(events[0].bytes, 64);
  EXPECT_EQ(events[1].kind, TraceKind::copy);
  EXPECT_EQ(events[1].bytes, 1 << 20);
  EXPECT_EQ(events[1].lane, 15);
}

TEST_F(CuptiRecordsTest, OnlyCallsThatStartedSomethingAreKept) {
  kernel("k", 50, 60, 7, 1);
  call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 40, 45, 1);
  call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, 46, 47, 2);
  const auto events = records_.take(0, 0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, TraceKind::host_call);
  EXPECT_EQ(events[0].name, "cudaLaunchKernel_v7000");
  EXPECT_EQ(events[0].device, spec::kHostDevice);
  EXPECT_EQ(events[0].correlation, 1);
  EXPECT_EQ(events[0].start_ns, 40);
  EXPECT_EQ(events[0].end_ns, 45);
}

// As cuBLASLt and cuDNN do.
TEST_F(CuptiRecordsTest, LaunchesOfALibraryThroughTheDriverAreNamedAsWell) {
  const auto span = begin_span({.kind = TraceKind::op, .name = "matmul"}, "forward");
  submitted_by(span, 3);
  call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, 40, 45, 3, CUPTI_ACTIVITY_KIND_DRIVER);
  kernel("sm90_xmma_gemm", 50, 60, 7, 3);
  const auto events = records_.take(0, 0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, TraceKind::host_call);
  EXPECT_EQ(events[0].name, "cuLaunchKernelEx");
  EXPECT_EQ(events[0].start_ns, 40);
  EXPECT_EQ(events[1].name, "matmul");
}

TEST_F(CuptiRecordsTest, ADriverCallWithinARuntimeCallIsNotCountedTwice) {
  call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 41, 44, 1, CUPTI_ACTIVITY_KIND_DRIVER);
  call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 40, 45, 1);
  call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 41, 44, 1, CUPTI_ACTIVITY_KIND_DRIVER);
  kernel("k", 50, 60, 7, 1);
  const auto events = records_.take(0, 0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].name, "cudaLaunchKernel_v7000");
}

// NCCL launches submitted work on a separate thread, which has no external id.
TEST_F(CuptiRecordsTest, ALaunchOfAnotherThreadBelongsToTheCollectiveBeingSubmitted) {
  const auto launch = [&](std::uint64_t at, std::uint32_t id) {
    call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, at, at + 5, id, CUPTI_ACTIVITY_KIND_DRIVER);
    kernel("ncclDevKernel", 1000 + at, 1001 + at, 13, id);
  };
  begin_span({.kind = TraceKind::submit, .name = "all_gather", .axis = "fsdp", .bytes = 64}, "forward", 100);
  end_span(200);
  begin_span({.kind = TraceKind::submit, .name = "reduce_scatter", .axis = "fsdp", .bytes = 32}, "backward", 300);
  begin_span({.kind = TraceKind::memset, .name = "fill"}, "backward", 310);
  end_span(320);
  end_span(400);
  begin_span({.kind = TraceKind::op, .name = "matmul"}, "backward", 500);
  end_span(600);
  for (const auto& [at, id] : {std::pair{50U, 1U}, {150U, 2U}, {250U, 3U}, {350U, 4U}, {550U, 5U}}) launch(at, id);
  kernel("of no call", 5000, 5001, 13, 6);
  std::vector<std::string> names;
  for (const auto& event : records_.take(0, 0)) {
    if (event.kind != TraceKind::host_call) names.push_back(event.name);
    if (event.kind == TraceKind::collective) {
      EXPECT_EQ(event.axis, "fsdp");
    }
  }
  EXPECT_THAT(names, ElementsAre("", "all_gather", "", "reduce_scatter", "", ""));
}

// A graph is recorded: nodes 11 and 12 within spans, 13 outside. Its executable graph holds copies of them.
TEST_F(CuptiRecordsTest, ReplayedWorkIsNamedByTheOperationThatRecordedIt) {
  begin_span({.kind = TraceKind::op, .name = "sum_of_squares"}, "optimizer");
  records_.add_node(11);
  end_span();
  begin_span({.kind = TraceKind::submit, .name = "all_gather", .axis = "fsdp", .bytes = 64}, "forward");
  records_.add_node(12);
  end_span();
  records_.add_node(13);
  records_.add_node_copy(101, 11);
  records_.add_node_copy(102, 12);
  records_.add_node_copy(103, 13);
  records_.take(0, 0);  // names persist beyond the step in which they were learnt
  for (std::int64_t step = 1; step < 3; ++step) {
    call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, 1, 5, 900);
    kernel("k1", 10, 20, 7, 900, 101);
    kernel("k2", 20, 30, 13, 900, 102);
    kernel("k3", 30, 40, 7, 900, 103);
    CuptiCopy copy{};
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    copy.start = 50;
    copy.end = 51;
    copy.graphNodeId = 101;
    add(copy);
    const auto events = records_.take(0, step);
    ASSERT_EQ(events.size(), 5U);
    EXPECT_EQ(events[0].name, "cudaGraphLaunch_v10000");
    EXPECT_EQ(events[1].name, "sum_of_squares");
    EXPECT_EQ(events[1].phase, "optimizer");
    EXPECT_EQ(events[1].correlation, events[0].correlation);
    EXPECT_EQ(events[2].kind, TraceKind::collective);
    EXPECT_EQ(events[2].name, "all_gather");
    EXPECT_EQ(events[2].axis, "fsdp");
    EXPECT_EQ(events[2].bytes, 64);
    EXPECT_EQ(events[3].name, "");
    EXPECT_EQ(events[3].phase, "");
    EXPECT_EQ(events[4].name, "sum_of_squares");
  }
}

TEST_F(CuptiRecordsTest, TheSpanAroundAGraphLaunchDoesNotNameReplayedWork) {
  const auto span = begin_span({.kind = TraceKind::op, .name = "matmul"}, "forward");
  submitted_by(span, 900);
  kernel("k", 1, 2, 7, 900, 55);
  const auto events = records_.take(0, 0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "");
}

TEST_F(CuptiRecordsTest, ANodeBelongsToTheInnermostSpan) {
  begin_span({.name = "outer"}, "forward");
  begin_span({.name = "inner"}, "forward");
  records_.add_node(1);
  end_span();
  records_.add_node(2);
  end_span();
  kernel("a", 1, 2, 7, 9, 1);
  kernel("b", 2, 3, 7, 9, 2);
  const auto events = records_.take(0, 0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].name, "inner");
  EXPECT_EQ(events[1].name, "outer");
}

TEST_F(CuptiRecordsTest, RangesOfLibrariesAreMarkersOnLanesByThread) {
  marker(kStart, 100, 1, "NCCL", "ncclAllGather");
  marker(kStart, 110, 2, nullptr, "inner");
  marker(kEnd, 120, 2, nullptr, nullptr);
  marker(kEnd, 130, 1, "NCCL", nullptr);
  marker(kEnd, 205, 3, "NCCL", nullptr, 88);  // records come in any order
  marker(kStart, 200, 3, "NCCL", "ncclReduceScatter", 88);
  const auto events = records_.take(1, 4);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].kind, TraceKind::marker);
  EXPECT_EQ(events[0].name, "NCCL: ncclAllGather");
  EXPECT_EQ(events[0].start_ns, 100);
  EXPECT_EQ(events[0].end_ns, 130);
  EXPECT_EQ(events[0].device, spec::kHostDevice);
  EXPECT_EQ(events[0].rank, 1);
  EXPECT_EQ(events[0].step, 4);
  EXPECT_EQ(events[1].name, "inner");
  EXPECT_EQ(events[1].lane, events[0].lane);
  EXPECT_EQ(events[2].name, "NCCL: ncclReduceScatter");
  EXPECT_NE(events[2].lane, events[0].lane);
  for (const auto& event : events) EXPECT_GE(event.lane, 2);
}

TEST_F(CuptiRecordsTest, TheEnginesOwnRangesAreNotRecordedTwice) {
  marker(kStart, 100, 1, "perfbench", "matmul");
  marker(kEnd, 130, 1, "perfbench", nullptr);
  marker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, 140, 2, "NCCL", "a point in time");
  marker(kStart, 150, 3, "NCCL", "open at the step's end");
  EXPECT_EQ(records_.take(0, 0).size(), 0U);
  marker(kEnd, 160, 3, "NCCL", nullptr);
  EXPECT_EQ(records_.take(0, 1).size(), 0U);
}

TEST_F(CuptiRecordsTest, AStepBeginsAnew) {
  const auto span = begin_span({.name = "matmul"}, "forward");
  kernel("k", 1, 2, 7, 1);
  submitted_by(span, 1);
  EXPECT_EQ(records_.take(0, 0).size(), 1U);
  kernel("k", 3, 4, 7, 1);  // the same correlation, in another step
  const auto events = records_.take(0, 1);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "");
}

}  // namespace
}  // namespace perfbench::engine
