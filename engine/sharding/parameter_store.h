// What a rank keeps of the model for the whole run: of every unit the shard of its weights, gradients and optimizer
// states, and how they begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/sharding/context.h"
#include "engine/sharding/unit.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

// This rank's part of a unit, for the whole run. All [U/fsdp], f32 but for bf16_weight.
struct UnitState {
  UnitLayout layout;
  Tensor weight;
  Tensor bf16_weight;  // weight, rounded to nearest even, where the run keeps it; whoever writes weight writes it too
  Tensor gradient;
  Tensor first_moment;
  Tensor second_moment;
};

// How parameters begin: matrices and embeddings normal(0, init_std), norm weights 1, biases 0.
// `norm_and_bias_std` spreads the last two: tests use it so that no gradient is trivially right.
struct InitRule {
  std::uint64_t seed = 0;
  double matrix_std = 0.02;
  double norm_and_bias_std = 0.0;
};

class ParameterStore {
 public:
  // bf16_weights: a copy of the weights in bf16 is kept beside them.
  ParameterStore(const Context& context, const spec::ModelSpec& model, const InitRule& init, bool bf16_weights);

  std::vector<UnitState>& units() { return units_; }
  UnitState& unit(std::size_t index) { return units_[index]; }
  std::size_t embedding() const { return 0; }
  std::size_t layer(std::int64_t layer) const { return static_cast<std::size_t>(layer) + 1; }
  std::size_t head() const { return units_.size() - 1; }
  // Of this rank's shard, in its unit.
  std::int64_t first_element(const UnitLayout& layout) const { return shard_ * layout.shard_elements; }

 private:
  void initialise(const Context& context, UnitState& unit, const InitRule& init) const;

  std::int64_t shard_;  // this rank's index along fsdp
  std::vector<UnitState> units_;
};

}  // namespace perfbench::engine
