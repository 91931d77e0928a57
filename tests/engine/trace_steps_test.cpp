// Traced steps compute the same as untraced ones, and every part of them is in the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <utility>

#include "engine/metrics/record_files.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/train/dry_walk.h"
#include "engine/train/traced_steps.h"
#include "engine/train/watched_steps.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/silent_collectives.h"
#include "tests/engine/training.h"
#include "workloads/spec/record_json.h"

namespace perfbench::engine {
namespace {

namespace fs = std::filesystem;
using spec::TraceEvent;
using spec::TraceKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Pair;
using testing::UnorderedElementsAre;

struct Trace {
  std::vector<TraceEvent> events;
  spec::TraceEnd end;
};

// Takes further steps after the timed ones.
std::string trace_to(const fs::path& file, TrainingRun& training, const spec::RunSpec& run, std::int64_t steps,
                     DeviceTracer* device = nullptr) {
  StepTracer tracer(training.context(), training.trainer(), run, device);
  return tracer.finish(file, run.steps, steps);
}

class TracedStepsTest : public testing::Test {
 protected:
  void SetUp() override { file_ = fs::path(testing::TempDir()) / ("trace." + std::to_string(::getpid()) + ".jsonl"); }
  void TearDown() override { fs::remove(file_); }

  std::string trace(TrainingRun& training, const spec::RunSpec& run, std::int64_t steps) {
    return trace_to(file_, training, run, steps);
  }

  Trace read() const {
    Trace trace;
    std::istringstream lines(read_whole_file(file_));
    for (std::string line; std::getline(lines, line);) {
      const auto parsed = spec::parse_trace_line(line);
      if (const auto* event = std::get_if<TraceEvent>(&parsed)) {
        trace.events.push_back(*event);
      } else {
        trace.end = std::get<spec::TraceEnd>(parsed);
      }
    }
    return trace;
  }

  fs::path file_;
};

TEST_F(TracedStepsTest, ChangeNoBitOfTheTraining) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.remat = "full";
    TrainingRun plain(run);
    TrainingRun traced(run);
    for (std::int64_t i = 0; i < run.steps; ++i) EXPECT_EQ(plain.step().loss, traced.step().loss);
    // If steps are replayed recordings, one more step is taken before the traced ones (traced_steps.cpp).
    if (plain.context().ops.records()) plain.trainer().step(run.steps);
    plain.trainer().step(run.steps);
    plain.trainer().step(run.steps + 1);
    ASSERT_EQ(trace(traced, run, 2), "");
    // The loss and the gradients of the next step depend on all weights, moments and gradients of the traced steps.
    const auto a = plain.trainer().step(run.steps + 2);
    const auto b = traced.trainer().step(run.steps + 2);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.grad_norm, b.grad_norm);
    EXPECT_EQ(plain.all_gradients(), traced.all_gradients());
    EXPECT_EQ(a.peak.total_bytes, b.peak.total_bytes);
  }
}

TEST_F(TracedStepsTest, HoldExactlyTheSpansThatTheDryWalkCounts) {
  auto run = llama_tiny();
  run.attention = spec::AttentionKind::dot_product;  // in bf16 with shared keys it has additional steps on a GPU
  run.precision = spec::Precision::bf16;
  run.grad_accum = 2;
  run.loss_chunk_tokens = 24;
  TrainingRun training(run);
  ASSERT_EQ(trace(training, run, 2), "");
  const auto found = read();
  const auto counts = count_spans(run, 0);
  EXPECT_EQ(found.events.size(), 2 * (counts[0] + counts[1]));
  EXPECT_EQ(found.end.events, static_cast<std::int64_t>(found.events.size()));
  EXPECT_EQ(found.end.steps, 2);
  EXPECT_EQ(found.end.dropped_records, 0);
  EXPECT_EQ(found.end.buffers, 2);
  EXPECT_EQ(training.context().trace, nullptr);
}

TEST_F(TracedStepsTest, NestEveryOperationInThePhasesAndLayersOfOneStep) {
  auto run = llama_tiny();
  run.remat = "full";
  TrainingRun training(run);
  ASSERT_EQ(trace(training, run, 1), "");
  std::vector<const TraceEvent*> open;
  std::set<std::string> below_layer;
  std::set<std::string> phases;
  std::set<std::string> recomputed;
  std::map<std::string, int> updates;
  std::int64_t steps = 0;
  const auto found = read();
  for (const auto& event : found.events) {
    while (!open.empty() && open.back()->end_ns <= event.start_ns && event.kind != TraceKind::step) open.pop_back();
    if (event.kind == TraceKind::step) {
      ++steps;
      EXPECT_THAT(open, IsEmpty());
    } else {
      ASSERT_FALSE(open.empty()) << event.name;
      EXPECT_GE(event.start_ns, open.back()->start_ns);
      EXPECT_LE(event.end_ns, open.back()->end_ns) << event.name << " in " << open.back()->name;
    }
    if (event.kind == TraceKind::phase) phases.insert(event.name);
    const auto inside = [&](const std::string& range) {
      return std::any_of(open.begin(), open.end(), [&](const auto* outer) { return outer->name == range; });
    };
    if (event.kind == TraceKind::op && inside("layers.1")) below_layer.insert(event.name);
    if (event.kind == TraceKind::op && inside("recompute")) recomputed.insert(event.name);
    if (event.kind == TraceKind::op && inside("optimizer")) ++updates[event.name];
    open.push_back(&event);
  }
  EXPECT_EQ(steps, 1);
  EXPECT_THAT(phases, IsSupersetOf({"data", "forward", "backward", "optimizer"}));
  EXPECT_THAT(below_layer, IsSupersetOf({"matmul", "attention_forward", "attention_backward", "norm_forward",
                                         "norm_backward", "rope", "activation_forward"}));
  // One for all units together.
  EXPECT_EQ(updates["sum_of_squares"], 1);
  EXPECT_EQ(updates["adamw"], 1);
  EXPECT_THAT(recomputed, IsSupersetOf({"matmul", "attention_forward", "norm_forward"}));
  EXPECT_EQ(recomputed.count("attention_backward"), 0U);
}

TEST_F(TracedStepsTest, StepsOfAWindowAreMarkedAndChangeNoBit) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.steps = 7;
    TrainingRun plain(run);
    run.profile = {.first_step = 3, .steps = 2};
    TrainingRun training(run);
    StepTracer tracer(training.context(), training.trainer(), run, nullptr);
    std::vector<std::int64_t> marked;
    for (std::int64_t i = 0; i < run.steps; ++i) {
      const auto want = plain.step();
      const auto got = tracer.timed_step(i);
      EXPECT_EQ(got.step, i);
      EXPECT_EQ(got.loss, want.loss);
      EXPECT_EQ(got.grad_norm, want.grad_norm);
      EXPECT_EQ(got.peak.total_bytes, want.peak.total_bytes);
      if (got.traced != 0) marked.push_back(i);
      EXPECT_EQ(training.context().trace, nullptr);
      EXPECT_FALSE(fs::exists(file_)) << "a file is written between timed steps";
    }
    EXPECT_EQ(plain.all_gradients(), training.all_gradients());
    const bool replays = plain.context().ops.records();
    EXPECT_EQ(marked, replays ? std::vector<std::int64_t>({2, 3, 4}) : std::vector<std::int64_t>({3, 4}));
    ASSERT_EQ(tracer.finish(file_, run.steps, 1), "");
    const auto found = read();
    std::vector<std::int64_t> traced;
    for (const auto& event : found.events) {
      if (event.kind == TraceKind::step) traced.push_back(event.step);
    }
    EXPECT_THAT(traced, ElementsAre(3, 4, 7));
    const auto counts = count_spans(run, 0);
    EXPECT_EQ(found.events.size(), 3 * (counts[0] + counts[1]));
    EXPECT_EQ(found.end.events, static_cast<std::int64_t>(found.events.size()));
    EXPECT_EQ(found.end.steps, 3);
    EXPECT_EQ(found.end.dropped_records, 0);
    fs::remove(file_);
  }
}

TEST_F(TracedStepsTest, AFullDiskEndsTheTraceAndNotTheTraining) {
  const auto run = gpt_tiny();
  TrainingRun training(run);
  EXPECT_THAT(trace_to("/dev/full", training, run, 1), HasSubstr("/dev/full"));
  EXPECT_THAT(trace_to("/nowhere/t.jsonl", training, run, 1), HasSubstr("/nowhere/t.jsonl"));
}

// A device that does one piece of work for each span that it is told of.
class FakeDevice : public DeviceTracer {
 public:
  std::vector<std::string> told;
  std::vector<std::string> phases;
  void begin_step() override { told.clear(); }
  void begin_span(const TraceSpan& span, std::string_view phase) override {
    told.emplace_back(span.name);
    phases.emplace_back(phase);
    ++open_;
  }
  bool begin_naming() override { return true; }
  void end_naming() override {}
  void end_span() override { --open_; }
  std::vector<spec::TraceEvent> end_step(std::int64_t rank, std::int64_t step) override {
    EXPECT_EQ(open_, 0);
    std::vector<spec::TraceEvent> events;
    for (const auto& name : told) {
      spec::TraceEvent event;
      event.rank = rank;
      event.step = step;
      event.kind = spec::TraceKind::kernel;
      event.name = name;
      event.device = 0;
      events.push_back(event);
    }
    return events;
  }
  std::int64_t buffers() const override { return 5; }
  std::int64_t dropped_records() const override { return 2; }

 private:
  int open_ = 0;
};

TEST_F(TracedStepsTest, DeviceWorkIsBesideTheSpansThatSubmittedIt) {
  auto run = llama_tiny();
  run.device_graphs = false;  // a replayed recording submits its operations as one
  TrainingRun training(run);
  training.all_steps();
  FakeDevice device;
  EXPECT_EQ(trace_to(file_, training, run, 1, &device), "");
  const auto written = read();
  const auto of_kind = [&](std::initializer_list<TraceKind> kinds) {
    return std::count_if(written.events.begin(), written.events.end(), [&](const auto& event) {
      return std::find(kinds.begin(), kinds.end(), event.kind) != kinds.end();
    });
  };
  const auto kernels = of_kind({TraceKind::kernel});
  const auto operations = of_kind({TraceKind::op, TraceKind::copy, TraceKind::memset});
  EXPECT_EQ(kernels, static_cast<std::ptrdiff_t>(device.told.size()));
  EXPECT_EQ(kernels, operations);
  EXPECT_GT(kernels, 0);
  EXPECT_EQ(written.end.dropped_records, 2);
  EXPECT_GT(written.end.buffers, 5);
  EXPECT_FALSE(written.end.executed_singly);
  ASSERT_EQ(device.phases.size(), device.told.size());
  for (std::size_t i = 0; i < device.told.size(); ++i) {
    const std::map<std::string, std::string> phase_of{
        {"adamw", "optimizer"}, {"attention_forward", "forward"}, {"attention_backward", "backward"}};
    const auto known = phase_of.find(device.told[i]);
    if (known != phase_of.end()) {
      EXPECT_EQ(device.phases[i], known->second) << known->first;
    }
  }
}

TEST_F(TracedStepsTest, WatchedAndUnwatchedStepsAlternate) {
  auto run = llama_tiny();
  TrainingRun training(run);
  FakeDevice device;
  std::vector<WatchedStep> steps;
  run_watched_steps(training.context(), training.trainer(), run, {.device = &device}, 3,
                    [&](const WatchedStep& step) { steps.push_back(step); });
  ASSERT_EQ(steps.size(), 9U);
  std::set<std::string_view> first;
  for (std::size_t i = 0; i < steps.size(); i += 3) {
    const std::set<std::string_view> round{steps[i].by, steps[i + 1].by, steps[i + 2].by};
    EXPECT_EQ(round, (std::set<std::string_view>{"nobody", "spans", "device"}));
    EXPECT_EQ(steps[i].round, static_cast<std::int64_t>(i / 3));
    EXPECT_GT(steps[i].wall_ns, 0);
    first.insert(steps[i].by);
  }
  EXPECT_EQ(first.size(), 3U);
  EXPECT_FALSE(device.told.empty());
  EXPECT_EQ(training.context().trace, nullptr);
}

using Log = std::vector<std::string>;

// The cpu backend, which notes what it is asked to record and replays nothing.
class NotingOps : public cpu::CpuOps {
 public:
  explicit NotingOps(Log& log) : log_(log) {}
  bool records() const override { return true; }
  std::unique_ptr<Recording> end_recording(std::unique_ptr<Recording>) override {
    const std::string of = !log_.empty() && log_.back() == "begin naming" ? " traced" : "";
    log_.push_back("record" + of);
    return std::make_unique<Noted>(log_, of);
  }

 private:
  class Noted final : public Recording {
   public:
    Noted(Log& log, std::string of) : log_(log), of_(std::move(of)) {}
    ~Noted() override { log_.push_back("drop" + of_); }
    Noted(const Noted&) = delete;
    Noted& operator=(const Noted&) = delete;
    void replay() override { log_.push_back("replay" + of_); }

   private:
    Log& log_;
    std::string of_;
  };

  Log& log_;
};

// Collectives of one rank, which note their destruction.
class NotingCollectives final : public SilentCollectives {
 public:
  explicit NotingCollectives(Log& log) : SilentCollectives(Mesh(spec::MeshSpec{}, 0), {}), log_(log) {}
  ~NotingCollectives() override { log_.emplace_back("drop collectives"); }
  NotingCollectives(const NotingCollectives&) = delete;
  NotingCollectives& operator=(const NotingCollectives&) = delete;

 private:
  Log& log_;
};

class NotingDevice : public DeviceTracer {
 public:
  NotingDevice(Log& log, bool learns) : log_(log), learns_(learns) {}
  void begin_step() override { log_.emplace_back("begin step"); }
  void begin_span(const TraceSpan& span, std::string_view) override { last_ = span.name; }
  void end_span() override {}
  std::vector<spec::TraceEvent> end_step(std::int64_t, std::int64_t) override {
    log_.emplace_back("end step");
    return {};
  }
  bool begin_naming() override {
    log_.emplace_back("begin naming");
    return learns_;
  }
  void end_naming() override { log_.emplace_back("end naming"); }
  std::int64_t buffers() const override { return 0; }
  std::int64_t dropped_records() const override { return 0; }

 private:
  Log& log_;
  bool learns_;
  std::string last_;
};

class RecordedStepsTest : public TracedStepsTest {
 protected:
  // A training whose second step is recorded.
  struct Training {
    explicit Training(bool device_graphs) : run(llama_tiny()) {
      run.scan = false;
      run.device_graphs = device_graphs;
      Backend backend{.device_memory = make_cpu_backing(), .host_memory = make_cpu_backing()};
      backend.collectives = std::make_unique<NotingCollectives>(log);
      backend.ops = std::make_unique<NotingOps>(log);
      assembly.emplace(run, std::move(backend), Assembly::Options{.data = make_run_data(run)});
    }
    Context& context() { return assembly->context(); }
    Trainer& trainer() { return assembly->trainer(); }

    Log log;
    spec::RunSpec run;
    std::optional<Assembly> assembly;
  };

  // Takes two timed steps, then two traced ones.
  Log log_of(bool device_graphs, bool learns) {
    Training training(device_graphs);
    training.trainer().step(0);
    training.trainer().step(1);
    training.log.clear();
    NotingDevice device(training.log, learns);
    StepTracer tracer(training.context(), training.trainer(), training.run, &device);
    EXPECT_EQ(tracer.finish(file_, 2, 2), "");
    EXPECT_EQ(training.context().recordings, Recordings::used);
    return training.log;
  }
};

TEST_F(RecordedStepsTest, AreReplayedAfterTheirNamesWereLearntFromANewRecording) {
  EXPECT_THAT(log_of(true, true), ElementsAre("begin naming", "record traced", "end naming", "begin step",
                                              "replay traced", "end step", "begin step", "replay traced", "end step"));
  EXPECT_FALSE(read().end.executed_singly);
}

TEST_F(RecordedStepsTest, AreExecutedSinglyAndMarkedIfNamesCannotBeLearnt) {
  EXPECT_THAT(log_of(true, false),
              ElementsAre("begin naming", "replay", "begin step", "end step", "begin step", "end step"));
  EXPECT_TRUE(read().end.executed_singly);
}

// Steps 0 to 7 with a window of two from step 4 on: those around it replay recordings made without the tracer.
TEST_F(RecordedStepsTest, StepsOfAWindowReplayTheirOwnRecording) {
  for (const bool learns : {true, false}) {
    Training training(true);
    training.run.steps = 8;
    training.run.profile = {.first_step = 4, .steps = 2};
    NotingDevice device(training.log, learns);
    StepTracer tracer(training.context(), training.trainer(), training.run, &device);
    std::vector<std::int64_t> marked;
    for (std::int64_t i = 0; i < training.run.steps; ++i) {
      if (tracer.timed_step(i).traced != 0) marked.push_back(i);
    }
    EXPECT_THAT(marked, ElementsAre(3, 4, 5));
    if (learns) {
      EXPECT_THAT(training.log, ElementsAre("record", "replay", "begin naming", "record traced", "end naming",
                                            "begin step", "replay traced", "end step", "begin step", "replay traced",
                                            "end step", "replay", "replay"));
    } else {
      EXPECT_THAT(training.log, ElementsAre("record", "replay", "begin naming", "replay", "begin step", "end step",
                                            "begin step", "end step", "replay", "replay"));
    }
    EXPECT_EQ(tracer.finish(file_, training.run.steps, 0), "");
    EXPECT_EQ(read().end.executed_singly, !learns);
  }
}

// A recording made under a device's tracer may stay slower: unwatched steps are the baseline for the others.
TEST_F(RecordedStepsTest, UntracedStepsReplayARecordingMadeWithoutTheTracer) {
  Training training(true);
  NotingDevice device(training.log, true);
  std::int64_t reported = 0;
  run_watched_steps(training.context(), training.trainer(), training.run, {.device = &device}, 2,
                    [&](const WatchedStep&) { ++reported; });
  EXPECT_EQ(reported, 6);
  const Log preparation(training.log.begin(), training.log.begin() + 4);
  EXPECT_THAT(preparation, ElementsAre("record", "begin naming", "record traced", "end naming"));
  std::map<std::string, int> steps;
  for (std::size_t i = 4; i < training.log.size(); ++i) {
    const auto& entry = training.log[i];
    ++steps[entry];
    const bool traced = training.log[i - 1] == "begin step";
    if (entry.starts_with("replay")) {
      EXPECT_EQ(entry, traced ? "replay traced" : "replay");
    }
  }
  // Two unreported rounds and two reported ones, each with an unwatched step, one with spans and one with the tracer.
  EXPECT_THAT(steps, UnorderedElementsAre(Pair("replay", 8), Pair("replay traced", 4), Pair("begin step", 4),
                                          Pair("end step", 4)));
}

// A run of several GPUs finished its last step but never exited: NCCL waits until no recording holds a communicator
// that is being destroyed.
TEST_F(RecordedStepsTest, AreDestroyedBeforeTheCollectivesThatTheyHold) {
  Training training(true);
  for (std::int64_t i = 0; i < 2; ++i) training.trainer().step(i);
  training.log.clear();
  training.assembly.reset();
  EXPECT_THAT(training.log, ElementsAre("drop", "drop collectives"));
}

TEST_F(RecordedStepsTest, AreLikeTimedOnesIfThoseRecordNothing) {
  EXPECT_THAT(log_of(false, true), ElementsAre("begin step", "end step", "begin step", "end step"));
  EXPECT_FALSE(read().end.executed_singly);
}

}  // namespace
}  // namespace perfbench::engine
