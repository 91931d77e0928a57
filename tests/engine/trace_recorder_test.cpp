// A recorder keeps the right spans, and the clock's phases and the collectives' thread produce spans.
#include "engine/trace/trace_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/metrics/phase_clock.h"
#include "engine/parallel/host_collectives.h"

namespace perfbench::engine {
namespace {

using spec::TraceKind;
using testing::SizeIs;

constexpr TraceLane kSchedule = TraceLane::schedule;

TEST(TraceRecorder, KeepsNestedSpansInTheOrderOfTheirBeginning) {
  TraceRecorder recorder({4, 0});
  recorder.begin(kSchedule, {.kind = TraceKind::range, .name = "layers.0"}, 10);
  recorder.begin(kSchedule, {.name = "matmul", .bytes = 8}, 20);
  recorder.end(kSchedule, 30);
  recorder.begin(kSchedule, {.name = "add"}, 31);
  recorder.end(kSchedule, 32);
  recorder.end(kSchedule, 40);
  const auto events = recorder.take(3, 7);
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].name, "layers.0");
  EXPECT_EQ(events[0].start_ns, 10);
  EXPECT_EQ(events[0].end_ns, 40);
  EXPECT_EQ(events[1].name, "matmul");
  EXPECT_EQ(events[1].start_ns, 20);
  EXPECT_EQ(events[1].end_ns, 30);
  EXPECT_EQ(events[1].bytes, 8);
  EXPECT_EQ(events[2].name, "add");
  EXPECT_EQ(events[2].rank, 3);
  EXPECT_EQ(events[2].step, 7);
  EXPECT_EQ(recorder.dropped(), 0);
  EXPECT_EQ(recorder.buffers(), 1);
}

TEST(TraceRecorder, CountsSpansWithoutRoomAndKeepsTheRest) {
  TraceRecorder recorder({1, 0});
  recorder.begin(kSchedule, {.name = "outer"}, 1);
  recorder.begin(kSchedule, {.name = "lost"}, 2);
  recorder.end(kSchedule, 3);
  recorder.end(kSchedule, 4);
  EXPECT_EQ(recorder.dropped(), 1);
  const auto events = recorder.take(0, 0);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].end_ns, 4);
}

TEST(TraceRecorder, LeavesOutTheEndOfASpanThatBeganBeforeIt) {
  TraceRecorder recorder({2, 0});
  recorder.end(kSchedule, 5);
  recorder.begin(kSchedule, {.name = "add"}, 10);
  recorder.end(kSchedule, 20);
  recorder.end(kSchedule, 30);
  const auto events = recorder.take(0, 1);
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].end_ns, 20);
}

TEST(TraceRecorder, UsesItsMemoryAgainAfterItWasTaken) {
  TraceRecorder recorder({1, 1});
  for (int step = 0; step < 3; ++step) {
    recorder.begin(TraceLane::communication, {.kind = TraceKind::collective, .name = "all_reduce"}, step);
    recorder.end(TraceLane::communication, step + 1);
    const auto events = recorder.take(0, step);
    ASSERT_THAT(events, SizeIs(1));
    EXPECT_EQ(events[0].start_ns, step);
    EXPECT_EQ(events[0].lane, 1);
  }
  EXPECT_EQ(recorder.dropped(), 0);
  EXPECT_EQ(recorder.buffers(), 3);
}

std::int64_t made_up_now = 0;
std::int64_t read_made_up() {
  return made_up_now += 10;
}

TEST(PhaseClockTrace, ATraceHasThePhasesOfTheClock) {
  made_up_now = 0;
  PhaseClock clock(read_made_up);
  TraceRecorder recorder({16, 0});
  clock.set_trace(&recorder);
  clock.start();
  {
    PhaseClock::Scope backward(clock, Phase::backward);
    PhaseClock::Scope wait(clock, Phase::exposed_comm);
  }
  clock.stop();
  const auto events = recorder.take(0, 0);
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[0].kind, TraceKind::step);
  EXPECT_EQ(events[0].end_ns - events[0].start_ns, clock.wall_ns());
  EXPECT_EQ(events[1].name, "backward");
  EXPECT_EQ(events[2].name, "exposed_comm");
  const auto length = [&](std::size_t i) { return events[i].end_ns - events[i].start_ns; };
  EXPECT_EQ(length(2), clock.phase_ns(Phase::exposed_comm));
  EXPECT_EQ(length(1) - length(2), clock.phase_ns(Phase::backward));
  EXPECT_EQ(length(0) - length(1), clock.phase_ns(Phase::other));
}

// The other ranks of a group, as far as a trace is concerned: they contribute nothing.
class LonelyGroup : public RankGroup {
 public:
  void all_gather(std::span<std::byte>, std::span<const std::byte>) override {}
  void reduce_scatter(std::span<float>, std::span<const float>) override {}
  void reduce_scatter(std::span<Bf16>, std::span<const Bf16>) override {}
  void all_to_all(std::span<std::byte>, std::span<const std::byte>) override {}
  void all_reduce(std::span<float>) override {}
  void all_reduce(std::span<Bf16>) override {}
  void all_reduce(std::span<double>) override {}
};

TEST(CollectivesTrace, ACollectiveHasItsOwnSpanOnTheLaneOfTheThreadThatRunsIt) {
  LonelyGroup group;
  CommunicationThread thread;
  spec::MeshSpec mesh;
  mesh.ici.fsdp = 2;
  constexpr std::array<Declared, 2> kDeclared{{{Axis::fsdp}, {Axis::dp}}};
  const auto collectives = make_host_collectives(
      Mesh(mesh, 0), kDeclared, [&](const Channel&) { return &group; }, &thread, nullptr);
  std::vector<float> full(8);
  std::vector<float> shard(4);
  const TensorView full_view{full.data(), DType::f32, Shape{8}};
  const TensorView shard_view{shard.data(), DType::f32, Shape{4}};
  collectives->all_gather("U/fsdp -> U", full_view, shard_view, Lane::background).wait();  // not traced
  TraceRecorder recorder({8, 8});
  collectives->set_trace(&recorder);
  Pending gathered = collectives->all_gather("U/fsdp -> U", full_view, shard_view, Lane::background);
  Pending reduced = collectives->reduce_scatter("U -> U/fsdp", shard_view, full_view, Lane::background);
  collectives->all_reduce(Axis::dp, full_view, Lane::background).wait();  // one rank: nothing is submitted
  gathered.wait();
  reduced.wait();
  const auto events = recorder.take(0, 0);
  ASSERT_THAT(events, SizeIs(4));
  std::map<std::int64_t, std::vector<const spec::TraceEvent*>> by_correlation;
  for (const auto& event : events) by_correlation[event.correlation].push_back(&event);
  ASSERT_THAT(by_correlation, SizeIs(2));
  for (const auto& [correlation, pair] : by_correlation) {
    ASSERT_THAT(pair, SizeIs(2));
    EXPECT_EQ(pair[0]->kind, TraceKind::submit);
    EXPECT_EQ(pair[0]->lane, 0);
    EXPECT_EQ(pair[1]->kind, TraceKind::collective);
    EXPECT_EQ(pair[1]->lane, 1);
    EXPECT_EQ(pair[0]->name, pair[1]->name);
    EXPECT_EQ(pair[1]->axis, "fsdp");
    EXPECT_EQ(pair[1]->bytes, 32);
    EXPECT_GE(pair[1]->start_ns, pair[0]->start_ns);
  }
  EXPECT_EQ(events[0].name, "all_gather");
  EXPECT_EQ(events[1].name, "reduce_scatter");
}

}  // namespace
}  // namespace perfbench::engine
