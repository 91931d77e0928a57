// Faults make slow, large or wrong exactly what they name, and are refused where they are impossible.
#include "engine/faults/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "engine/core/error.h"
#include "engine/faults/slow_spans.h"
#include "engine/faults/work_clock.h"
#include "engine/trace/trace_recorder.h"
#include "workloads/spec/memory_record.h"

namespace perfbench::engine {
namespace {

using spec::TraceKind;
using testing::HasSubstr;

constexpr TraceLane kSchedule = TraceLane::schedule;

// A clock that advances by 1 ns each time it is read.
std::int64_t now_ns = 0;
std::int64_t looked_at() {
  return now_ns++;
}

std::string refusal(const std::string& fault, spec::Device device = spec::Device::cpu) {
  try {
    make_faults({fault}, device);
  } catch (const BadInput& e) {
    return e.what();
  }
  return "accepted";
}

TEST(SlowSpans, EndsLaterByAFractionOfTheSpansOwnTime) {
  now_ns = 1000;
  BusyClock clock(looked_at);
  SlowSpans slow({{.name = "matmul", .fraction = 0.5}}, clock);
  TraceRecorder recorder({2, 0});
  slow.set_inner(&recorder);
  slow.begin(kSchedule, {.name = "matmul"}, 1000);
  slow.end(kSchedule, 1100);
  slow.begin(kSchedule, {.name = "add"}, 2000);
  slow.end(kSchedule, 2100);
  const auto events = recorder.take(0, 0);
  ASSERT_THAT(events, testing::SizeIs(2));
  EXPECT_EQ(events[0].end_ns, 1150);
  EXPECT_EQ(events[1].end_ns, 2100);
  EXPECT_EQ(now_ns, 1151);  // the delay ended at 1150, and there was none for the other span
}

TEST(SlowSpans, DelaysTheBeginningInside) {
  now_ns = 500;
  BusyClock clock(looked_at);
  SlowSpans slow({{.name = "forward", .delay_ns = 40}}, clock);
  slow.begin(kSchedule, {.kind = TraceKind::phase, .name = "forward"}, 500);
  EXPECT_GE(now_ns, 540);
  const auto after = now_ns;
  slow.end(kSchedule, after);
  EXPECT_EQ(now_ns, after);
}

TEST(SlowSpans, OpsAreOperationsAndNotPhasesStepsOrSubmissions) {
  for (const auto& [kind, name, slower] :
       {std::tuple{TraceKind::op, "add", true}, std::tuple{TraceKind::copy, "upload", true},
        std::tuple{TraceKind::memset, "fill", true}, std::tuple{TraceKind::phase, "forward", false},
        std::tuple{TraceKind::step, "step", false}, std::tuple{TraceKind::submit, "all_gather", false},
        std::tuple{TraceKind::range, "layers.0", false}}) {
    now_ns = 0;
    BusyClock clock(looked_at);
    SlowSpans slow({{.name = "ops", .delay_ns = 10}}, clock);
    slow.begin(kSchedule, {.kind = kind, .name = name}, 0);
    EXPECT_EQ(now_ns > 10, slower) << name;
  }
}

TEST(SlowSpans, ACollectiveIsSlowWhereItRunsAndNotAtItsSubmission) {
  now_ns = 0;
  BusyClock clock(looked_at);
  SlowSpans slow({{.name = "all_gather", .delay_ns = 10}}, clock);
  slow.begin(kSchedule, {.kind = TraceKind::submit, .name = "all_gather"}, 0);
  EXPECT_EQ(now_ns, 0);
  slow.begin(TraceLane::communication, {.kind = TraceKind::collective, .name = "all_gather"}, 0);
  EXPECT_GT(now_ns, 10);
}

TEST(SlowSpans, TakesTheEndOfASpanThatItDidNotSeeBegin) {
  now_ns = 0;
  BusyClock clock(looked_at);
  TraceRecorder recorder({1, 0});
  SlowSpans slow({{.name = "matmul", .fraction = 1}}, clock);
  slow.set_inner(&recorder);
  slow.end(kSchedule, 5);
  EXPECT_EQ(now_ns, 0) << "nothing is known that could be slow";
}

TEST(WorkClock, AdvancesOnlyWithWorkAndDelays) {
  std::int64_t flops = 0;
  WorkClock clock(1);
  clock.set_flops([&flops] { return flops; });
  TraceRecorder recorder({3, 0});
  SlowSpans slow({{.name = "matmul", .fraction = 1}}, clock);
  slow.set_inner(&recorder);
  const auto operation = [&](std::string_view name, std::int64_t work, TraceSink& sink) {
    clock.set_inner(&sink);
    const auto before = clock.now();
    flops += work;
    clock.begin(kSchedule, {.name = name}, 12345);  // the machine's time, which is ignored
    clock.end(kSchedule, 99999);
    return clock.now() - before;
  };
  const auto idle = operation("add", 0, recorder);
  const auto one = operation("matmul", 1'000'000'000, recorder);
  EXPECT_GT(idle, 0);
  EXPECT_GT(one, 2 * idle);
  EXPECT_EQ(operation("matmul", 1'000'000'000, slow), 2 * one);
  const auto events = recorder.take(0, 0);
  ASSERT_THAT(events, testing::SizeIs(3));
  EXPECT_EQ(events[2].end_ns - events[2].start_ns, 2 * one);
  const auto before = clock.now();
  clock.begin(TraceLane::communication, {.kind = TraceKind::collective, .name = "all_gather"}, 0);
  clock.end(TraceLane::communication, 5'000'000);
  EXPECT_EQ(clock.now(), before);
  flops = 0;  // as at the beginning of a step
  EXPECT_EQ(operation("matmul", 1'000'000'000, recorder), one);
}

TEST(Faults, OnlyAWorkClockReplacesTheRunsClock) {
  EXPECT_EQ(make_faults({"startup:ms=0"}, spec::Device::cpu)->clock(), nullptr);
  const auto faults = make_faults({"work_clock:noise=0", "startup:ms=3", "slow:span=matmul,us=7"}, spec::Device::cpu);
  ASSERT_NE(faults->clock(), nullptr);
  const auto bare = make_faults({"work_clock:noise=0"}, spec::Device::cpu);
  const auto ops = make_cpu_ops();
  Memory memory(make_cpu_backing(), make_cpu_backing(), {});
  faults->begin(memory, *ops);
  bare->begin(memory, *ops);
  EXPECT_EQ(faults->clock()->startup_ns() - bare->clock()->startup_ns(), 3'000'000);
  const auto step = [&](Faults& of) {
    const auto before = of.clock()->now();
    ops->set_trace(of.around(nullptr));
    float a[4] = {1, 2, 3, 4};
    float c[4] = {};
    const TensorView view{a, DType::f32, Shape{2, 2}};
    ops->matmul({.a = view, .b = view, .c = TensorView{c, DType::f32, Shape{2, 2}}});
    return of.clock()->now() - before;
  };
  EXPECT_EQ(step(*faults) - step(*bare), 7'000);
}

TEST(Faults, AWrongGradientHasTheOppositeSignAndTheSameLoss) {
  const auto faults = make_faults({"wrong_gradient"}, spec::Device::cpu);
  const auto wrong = faults->make_ops();
  ASSERT_NE(wrong, nullptr);
  const auto right = make_cpu_ops();
  float logits[2][3] = {{1, 2, 3}, {1, 2, 3}};
  float losses[2] = {};
  std::int32_t target = 1;
  Ops* ops[2] = {right.get(), wrong.get()};
  for (int i = 0; i < 2; ++i) {
    ops[i]->cross_entropy({.losses_N = {&losses[i], DType::f32, Shape{1}},
                           .logits_NV = TensorView{logits[i], DType::f32, Shape{1, 3}},
                           .targets_N = {&target, DType::i32, Shape{1}}});
  }
  EXPECT_EQ(losses[0], losses[1]);
  for (int v = 0; v < 3; ++v) EXPECT_EQ(logits[0][v], -logits[1][v]);
  EXPECT_LT(logits[0][1], 0);
}

// Two sequences of two positions: the second token of one is likely, that of the other less so.
TEST(Faults, AWrongScoreInvertsLikelihoods) {
  float statistics[4][4] = {{0, 3, 0, 3}, {1, 1, 1, 1}, {0, 3, 0, 1}, {0, 1, 0, 3}};
  std::int32_t targets[4] = {kNoTarget, 1, kNoTarget, 1};
  double scores[2][3] = {};
  const auto ops = make_faults({"wrong_score"}, spec::Device::cpu)->make_ops();
  ops->score({.scores_B3 = {scores, DType::f64, Shape{2, 3}},
              .statistics_R4N = {statistics, DType::f32, Shape{1, 4, 4}},
              .targets_N = {targets, DType::i32, Shape{4}},
              .seq_len = 2});
  EXPECT_EQ(scores[0][0], -100.0);
  EXPECT_EQ(scores[1][0], -98.0);
  for (const auto& of_sequence : scores) {
    EXPECT_EQ(of_sequence[1], 1.0);
    EXPECT_EQ(of_sequence[2], 1.0);
  }
}

TEST(Faults, ACrowdedExpertIsEveryTokensFirstChoice) {
  const auto ops = make_faults({"crowded_expert"}, spec::Device::cpu)->make_ops();
  float logits[2][3] = {{-1, 2, 1}, {0, 1, 2}};
  float gates[2][2] = {};
  std::int32_t experts[2][2] = {};
  std::int32_t rows[2][2] = {};
  std::int32_t choices[4] = {};
  std::int32_t segments[3][2] = {};
  ops->route_forward({.logits_NE = {logits, DType::f32, Shape{2, 3}},
                      .gates_NC = {gates, DType::f32, Shape{2, 2}},
                      .experts_NC = {experts, DType::i32, Shape{2, 2}},
                      .rows_NC = {rows, DType::i32, Shape{2, 2}},
                      .choices_Q = {choices, DType::i32, Shape{4}},
                      .segments_E2 = {segments, DType::i32, Shape{3, 2}},
                      .rule = {.part_rows = 4, .seq_len = 2}});
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(experts[n][0], 0);
    EXPECT_EQ(experts[n][1], n + 1);
  }
}

TEST(Faults, TheLossThatFindsNoMemoryIsCounted) {
  const auto ops = make_faults({"out_of_memory:loss=2"}, spec::Device::cpu)->make_ops();
  float logits[2] = {1, 2};
  float loss = 0;
  std::int32_t target = 1;
  const auto compute = [&] {
    ops->cross_entropy({.losses_N = {&loss, DType::f32, Shape{1}},
                        .logits_NV = TensorView{logits, DType::f32, Shape{1, 2}},
                        .targets_N = {&target, DType::i32, Shape{1}}});
  };
  EXPECT_NO_THROW(compute());
  EXPECT_THROW(compute(), OutOfMemory);
  EXPECT_NO_THROW(compute());
}

TEST(Faults, AnAllocationIsInTheLedgerUntilItIsFreed) {
  Memory memory(make_cpu_backing(), make_cpu_backing(), {});
  const auto faults = make_faults({"allocate:mib=2"}, spec::Device::cpu);
  {
    const auto ops = make_cpu_ops();
    const auto held = faults->begin(memory, *ops);
    EXPECT_EQ(memory.ledger().peaks().workspace_bytes, 2 << 20);
  }
  const auto ops = make_cpu_ops();
  EXPECT_FALSE(make_faults({"wrong_gradient"}, spec::Device::cpu)->begin(memory, *ops).defined());
}

TEST(Faults, WithoutASlowSpanTheTraceHasNoFilter) {
  TraceRecorder recorder({1, 0});
  const auto other = make_faults({"startup:ms=0"}, spec::Device::cpu);
  EXPECT_EQ(other->around(nullptr), nullptr);
  EXPECT_EQ(other->around(&recorder), &recorder);
  const auto slow = make_faults({"slow:span=matmul,us=1"}, spec::Device::cpu);
  EXPECT_NE(slow->around(nullptr), nullptr);
}

TEST(Faults, AreRefusedWithTheReason) {
  EXPECT_THAT(refusal("sloth"), HasSubstr("unknown fault 'sloth'"));
  EXPECT_THAT(refusal("slow:span=matmull,us=1"), HasSubstr("unknown span 'matmull'"));
  EXPECT_THAT(refusal("slow:us=1"), HasSubstr("'span' is missing"));
  EXPECT_THAT(refusal("slow:span=matmul"), HasSubstr("needs fraction=0.1 or us=500"));
  EXPECT_THAT(refusal("slow:span=matmul,us=-1"), HasSubstr("expected a number"));
  EXPECT_THAT(refusal("slow:span=matmul,us=1x"), HasSubstr("expected a number"));
  EXPECT_THAT(refusal("slow:span=matmul,us=nan"), HasSubstr("expected a number"));
  EXPECT_THAT(refusal("slow:span=matmul,us=1,us=2"), HasSubstr("given twice"));
  EXPECT_THAT(refusal("slow:span=matmul,us=1,of=2"), HasSubstr("unknown key 'of'"));
  EXPECT_THAT(refusal("slow:span=forward,fraction=0.5"), HasSubstr("only us is allowed"));
  EXPECT_THAT(refusal("startup:"), HasSubstr("expected key=value"));
  EXPECT_THAT(refusal("allocate:mib=1", spec::Device::cuda), HasSubstr("only into runs on a CPU"));
  EXPECT_EQ(make_faults({}, spec::Device::cuda), nullptr);
}

}  // namespace
}  // namespace perfbench::engine
