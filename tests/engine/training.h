// Trains a run in this process and keeps the values that tests compare.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/evaluated_rows.h"
#include "tests/engine/training_backend.h"
#include "workloads/spec/dry_report.h"

namespace perfbench::engine {

struct TrainedStep {
  double loss = 0;
  double grad_norm = 0;
  double balance_loss = 0;
  double expert_load = 0;
  std::int64_t dropped_choices = 0;
  std::int64_t loss_tokens = 0;
  std::int64_t padding_tokens = 0;
};

// On an emulated device a step takes seconds, so it has half the sequences there.
inline spec::RunSpec sized_for_device(spec::RunSpec run) {
  if (is_slow()) run.global_batch /= 2;
  return run;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// f32 sums of n products in another order differ by at most gamma_n = n u / (1 - n u), u = 2^-24 (Higham, "Accuracy and
// Stability", 3.1), relative to the sum of magnitudes. The longest sum on the way to the first loss has n = d_ff terms
// and there are fewer than 64 rounded operations in a chain; magnitudes exceed values by less than a factor of 100 for
// these inputs.
inline constexpr double kSumsInOtherOrder = 100.0 * 64.0 * 0x1p-24;

// A run's own first weights, except for adapters: their b begins at zero and would leave a without a gradient.
inline InitRule first_weights(const spec::RunSpec& run) {
  auto rule = init_rule(run);
  if (run.lora.used()) rule.constants_std = 0.1;
  return rule;
}

using MakeTokens = std::function<std::unique_ptr<TokenSource>(const spec::RunSpec&)>;

// One rank's training on the backend under test, step by step.
class TrainingRun {
 public:
  TrainingRun(const spec::RunSpec& run, const InitRule& init, std::unique_ptr<Collectives> collectives,
              const MakeTokens& tokens = make_token_source)
      : run_(on_device_under_test(run)),
        assembly_(run_, backend_with(run_, std::move(collectives)), {.init = init, .data = data_of(run_, tokens)}) {}

  explicit TrainingRun(const spec::RunSpec& run) : TrainingRun(run, first_weights(run), make_single_collectives()) {}

  spec::StepRecord step() { return trainer().step(next_++); }
  // Continues as if this many steps had been taken.
  void go_on_from(std::int64_t steps) { next_ = steps; }

  std::vector<TrainedStep> all_steps() {
    std::vector<TrainedStep> steps;
    for (std::int64_t i = 0; i < run_.steps; ++i) {
      const auto record = step();
      steps.push_back({record.loss, record.grad_norm, record.balance_loss, record.expert_load, record.dropped_choices,
                       record.loss_tokens, record.padding_tokens});
    }
    return steps;
  }

  // For the whole parameter on one rank (fsdp of one): values of the unit's state.
  std::vector<float> gradient(const std::string& name) { return values(name, &UnitState::gradient); }
  std::vector<float> weight(const std::string& name) { return values(name, &UnitState::weight); }
  // The shards of every unit that trains, one behind the other.
  std::vector<float> all_gradients() { return all_values(&UnitState::gradient); }
  std::vector<float> all_weights() { return all_values(&UnitState::weight); }

  const spec::RunSpec& run() const { return run_; }
  const MemoryLedger& ledger() { return assembly_.memory().ledger(); }
  std::int64_t arena_bytes() { return assembly_.memory().device_extent_bytes(); }
  const spec::FlopCounts& flops() { return context().ops.flops(); }
  Collectives& collectives() { return context().collectives; }
  Trainer& trainer() { return assembly_.trainer(); }
  Context& context() { return assembly_.context(); }

 private:
  std::vector<float> all_values(Tensor UnitState::*state) {
    std::vector<float> all;
    for (const auto& unit : trainer().parameters().units()) {
      if (!unit.layout.trains) continue;
      const auto shard = to_host(unit.*state);
      all.insert(all.end(), shard.begin(), shard.end());
    }
    return all;
  }
  static RunData data_of(const spec::RunSpec& run, const MakeTokens& tokens) {
    return {.tokens = run.trains() ? tokens(run) : nullptr, .evaluation = evaluation_of(run)};
  }
  static spec::RunSpec on_device_under_test(spec::RunSpec run) {
    run.device = device_under_test();
    return run;
  }
  static Backend backend_with(const spec::RunSpec& run, std::unique_ptr<Collectives> collectives) {
    Backend backend = make_training_backend(run, collectives->mesh().rank());
    backend.collectives = std::move(collectives);
    return backend;
  }
  std::vector<float> values(const std::string& name, Tensor UnitState::*state) {
    for (const auto& unit : trainer().parameters().units()) {
      for (const auto& p : unit.layout.parameters) {
        if (p.spec.name != name) continue;
        return to_host((unit.*state).view().slice(p.offset, Shape{p.spec.elements()}));
      }
    }
    return {};
  }

  spec::RunSpec run_;
  Assembly assembly_;
  std::int64_t next_ = 0;
};

// Each scope's peak equals the dry walk's plan for the run, and so does the arena.
inline void expect_planned_memory(TrainingRun& training, const spec::DryReport& dry, const std::string& what) {
  const auto peaks = training.ledger().peaks();
  EXPECT_EQ(peaks.total_bytes, dry.peak.total_bytes) << what;
  EXPECT_EQ(peaks.gathered_bytes, dry.peak.gathered_bytes) << what;
  EXPECT_EQ(peaks.weights_bytes, dry.peak.weights_bytes) << what;
  EXPECT_EQ(peaks.gradients_bytes, dry.peak.gradients_bytes) << what;
  EXPECT_EQ(peaks.optimizer_bytes, dry.peak.optimizer_bytes) << what;
  EXPECT_EQ(peaks.activations_bytes, dry.peak.activations_bytes) << what;
  EXPECT_EQ(peaks.workspace_bytes, dry.peak.workspace_bytes) << what;
  EXPECT_EQ(peaks.host_bytes, dry.peak.host_bytes) << what;
  EXPECT_EQ(training.arena_bytes(), dry.arena_bytes) << what;
}

}  // namespace perfbench::engine
