// Trains a run in this process and keeps what tests compare.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "tests/engine/training_backend.h"

namespace perfbench::engine {

struct TrainedStep {
  double loss = 0;
  double grad_norm = 0;
};

// One rank's training on the backend under test, step by step.
class TrainingRun {
 public:
  TrainingRun(const spec::RunSpec& run, const InitRule& init, std::unique_ptr<Collectives> collectives)
      : run_(on_device_under_test(run)),
        backend_(make_training_backend(run_)),
        memory_(std::move(backend_.device_memory), std::move(backend_.host_memory), {}),
        collectives_(std::move(collectives)),
        tokens_(make_token_source(run_)),
        clock_(backend_.timeline ? PhaseClock(backend_.timeline.get()) : PhaseClock()),
        context_{*backend_.ops, memory_, *collectives_, clock_, compute_dtype(run_.precision)},
        trainer_(context_, run_, init, tokens_.get()) {}

  explicit TrainingRun(const spec::RunSpec& run) : TrainingRun(run, init_rule(run), make_single_collectives()) {}

  spec::StepRecord step() { return trainer_.step(next_++); }

  std::vector<TrainedStep> all_steps() {
    std::vector<TrainedStep> steps;
    for (std::int64_t i = 0; i < run_.steps; ++i) {
      const auto record = step();
      steps.push_back({record.loss, record.grad_norm});
    }
    return steps;
  }

  // Of one rank's whole parameter (fsdp of one): values of the unit's state.
  std::vector<float> gradient(const std::string& name) { return values(name, &UnitState::gradient); }
  std::vector<float> weight(const std::string& name) { return values(name, &UnitState::weight); }
  // The shard of every unit, one behind the other.
  std::vector<float> all_gradients() {
    std::vector<float> all;
    for (const auto& unit : trainer_.fsdp().units()) {
      const auto shard = to_host(unit.gradient);
      all.insert(all.end(), shard.begin(), shard.end());
    }
    return all;
  }

  const spec::RunSpec& run() const { return run_; }
  const MemoryLedger& ledger() const { return memory_.ledger(); }
  std::int64_t arena_bytes() const { return memory_.device_extent_bytes(); }
  const spec::FlopCounts& flops() const { return backend_.ops->flops(); }
  Collectives& collectives() { return *collectives_; }
  Trainer& trainer() { return trainer_; }
  Context& context() { return context_; }

 private:
  static spec::RunSpec on_device_under_test(spec::RunSpec run) {
    run.device = device_under_test();
    return run;
  }
  std::vector<float> values(const std::string& name, Tensor UnitState::*state) {
    for (const auto& unit : trainer_.fsdp().units()) {
      for (const auto& p : unit.layout.parameters) {
        if (p.spec.name != name) continue;
        return to_host((unit.*state).view().slice(p.offset, Shape{p.spec.elements()}));
      }
    }
    return {};
  }

  spec::RunSpec run_;
  TrainingBackend backend_;
  Memory memory_;
  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<TokenSource> tokens_;
  PhaseClock clock_;
  Context context_;
  Trainer trainer_;
  std::int64_t next_ = 0;
};

}  // namespace perfbench::engine
