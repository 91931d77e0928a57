// Which communication overlaps with which computation: the order of a step's gatherings, reductions, waits and
// operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/train/assembly.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/silent_collectives.h"

namespace perfbench::engine {
namespace {

using testing::ElementsAreArray;
using Order = std::vector<std::string>;

// Communicates nothing and notes what is submitted and waited for, by the names of units. A wait advances a clock by 10
// ns.
class NotedUnits final : public SilentCollectives {
 public:
  NotedUnits(const spec::RunSpec& run, Order& order)
      : SilentCollectives(Mesh(run.mesh, 0), communication(run)), order_(order) {}
  void set_units(ParameterStore& store) { store_ = &store; }
  std::int64_t now_ns() const { return now_ns_; }

 private:
  class Noted final : public Pending::State {
   public:
    Noted(NotedUnits& of, std::string what) : of_(of), what_(std::move(what)) {}
    void wait() override {
      of_.order_.push_back(what_);
      of_.now_ns_ += 10;
    }

   private:
    NotedUnits& of_;
    std::string what_;
  };

  bool host_waits() const override { return true; }

  // A unit's own shard, or a tensor of its size: the target of the reduction of an embedding's second gradient.
  std::string unit_of(const TensorView& shard) const {
    std::string of_size;
    for (const auto& unit : store_->units()) {
      if (unit.weight.view().data == shard.data || unit.gradient.view().data == shard.data) return unit.layout.name;
      if (unit.layout.shard_elements == shard.elements()) of_size = unit.layout.name;
    }
    return of_size;
  }
  State do_all_gather(const Channel&, TensorView, TensorView shard) override {
    order_.push_back("gather " + unit_of(shard));
    return std::make_unique<Noted>(*this, "use " + unit_of(shard));
  }
  State do_reduce_scatter(const Channel&, TensorView shard, TensorView) override {
    order_.push_back("reduce " + unit_of(shard));
    return std::make_unique<Noted>(*this, "settle " + unit_of(shard));
  }

  Order& order_;
  ParameterStore* store_ = nullptr;
  std::int64_t now_ns_ = 0;
};

// One operation of each part of the model.
class NotedOperations final : public TraceSink {
 public:
  explicit NotedOperations(Order& order) : order_(order) {}
  void begin(TraceLane, const TraceSpan& span, std::int64_t) override {
    static const std::set<std::string_view> kNoted{"embedding_forward", "attention_forward", "cross_entropy",
                                                   "attention_backward", "embedding_backward"};
    if (span.kind == spec::TraceKind::op && kNoted.contains(span.name)) order_.emplace_back(span.name);
  }
  void end(TraceLane, std::int64_t) override {}

 private:
  Order& order_;
};

struct NotedStep {
  Order order;
  spec::StepRecord record;
  std::vector<spec::AxisTraffic> traffic;
};

// A step of two layers on two ranks.
NotedStep step_of_two_layers(spec::RunSpec run, std::int64_t prefetch) {
  run.model.layers = 2;
  run.mesh.ici.fsdp = 2;
  run.fsdp_prefetch = prefetch;
  NotedStep step;
  auto collectives = std::make_unique<NotedUnits>(run, step.order);
  NotedUnits& units = *collectives;
  Backend backend{.device_memory = make_cpu_backing(), .host_memory = make_cpu_backing()};
  backend.collectives = std::move(collectives);
  backend.ops = make_dry_ops();
  Assembly assembly(run, std::move(backend), {.clock = [&units] { return units.now_ns(); }});
  units.set_units(assembly.trainer().parameters());
  NotedOperations operations(step.order);
  assembly.context().set_trace(&operations);
  step.record = assembly.trainer().step(0);
  step.traffic = units.traffic();
  return step;
}

Order order_of_a_step(const spec::RunSpec& run, std::int64_t prefetch) {
  return step_of_two_layers(run, prefetch).order;
}

// Measured by the clock of the steps, also if that is not the machine's.
TEST(Overlap, TrafficNamesTheCollectivesOfExposedTime) {
  const auto step = step_of_two_layers(llama_tiny(), 1);
  std::int64_t exposed_ns = 0;
  for (const auto& row : step.traffic) {
    exposed_ns += row.exposed_ns;
    const std::map<std::string_view, std::int64_t> waits{{"all_gather", 5}, {"reduce_scatter", 4}, {"all_reduce", 0}};
    EXPECT_EQ(row.exposed_ns, waits.at(row.collective) * 10) << row.collective;
  }
  EXPECT_EQ(step.record.exposed_comm_ns, exposed_ns);
}

TEST(Overlap, UnitsAreGatheredAndReducedDuringTheirNeighboursComputation) {
  EXPECT_THAT(
      order_of_a_step(llama_tiny(), 1),
      ElementsAreArray(
          {"gather embedding", "gather layers.0",    "use embedding",    "embedding_forward",  "gather layers.1",
           "use layers.0",     "attention_forward",  "gather head",      "use layers.1",       "attention_forward",
           "use head",         "cross_entropy",      "reduce head",      "gather layers.0",    "attention_backward",
           "reduce layers.1",  "settle head",        "use layers.0",     "attention_backward", "reduce layers.0",
           "settle layers.1",  "embedding_backward", "reduce embedding", "settle layers.0",    "settle embedding"}));
}

// The gradients of the unembedding and of the head are complete at the same time: neither waits for the other.
TEST(Overlap, ATiedEmbeddingIsReducedBesideTheLastLayer) {
  EXPECT_THAT(
      order_of_a_step(gpt_tiny(), 1),
      ElementsAreArray(
          {"gather embedding",   "gather layers.0",   "use embedding",      "embedding_forward", "gather layers.1",
           "use layers.0",       "attention_forward", "gather head",        "gather embedding",  "use layers.1",
           "attention_forward",  "use head",          "use embedding",      "cross_entropy",     "reduce embedding",
           "reduce head",        "gather layers.0",   "attention_backward", "reduce layers.1",   "settle embedding",
           "settle head",        "use layers.0",      "attention_backward", "reduce layers.0",   "settle layers.1",
           "embedding_backward", "reduce embedding",  "settle layers.0",    "settle embedding"}));
}

TEST(Overlap, WithoutPrefetchingEverythingIsWaitedForAtOnce) {
  EXPECT_THAT(order_of_a_step(llama_tiny(), 0),
              ElementsAreArray({"gather embedding",   "use embedding",      "embedding_forward", "gather layers.0",
                                "use layers.0",       "attention_forward",  "gather layers.1",   "use layers.1",
                                "attention_forward",  "gather head",        "use head",          "cross_entropy",
                                "reduce head",        "settle head",        "gather layers.1",   "use layers.1",
                                "attention_backward", "reduce layers.1",    "settle layers.1",   "gather layers.0",
                                "use layers.0",       "attention_backward", "reduce layers.0",   "settle layers.0",
                                "embedding_backward", "reduce embedding",   "settle embedding"}));
}

}  // namespace
}  // namespace perfbench::engine
