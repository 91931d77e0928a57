// What a rank keeps of the model for the whole run: of every unit of its stage the shard of its weights, gradients and
// optimizer states, and how they begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/sharding/context.h"
#include "engine/sharding/model_stage.h"
#include "engine/sharding/unit.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

// This rank's part of a unit, for the whole run. All [U/fsdp], f32 but for bf16_weight. Of a run that does not train
// there are weights alone.
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
  ParameterStore(const Context& context, const spec::RunSpec& run, const InitRule& init, bool bf16_weights);

  // Of this rank's stage.
  const std::vector<ModelChunk>& chunks() const { return chunks_; }
  std::vector<UnitState>& units() { return units_; }
  UnitState& unit(std::size_t index) { return units_[index]; }
  // Throw LogicFault for a unit of another stage.
  std::size_t embedding() const { return at(0); }
  std::size_t layer(std::int64_t layer) const { return at(static_cast<std::size_t>(layer) + 1); }
  std::size_t head() const { return at(places_.size() - 1); }
  bool has_embedding() const { return places_.front().has_value(); }
  bool has_head() const { return places_.back().has_value(); }
  // A tied embedding is looked up by the first stage and multiplies in the last: where those are two, each has it, with
  // its own part of the gradient. From this one, where the other is; nothing where there is no other.
  std::optional<Heading> other_embedding() const { return other_embedding_; }
  // Each parameter of the model belongs to one stage.
  bool belongs_here(std::size_t unit) const { return other_embedding_ != Heading::onward || unit != embedding(); }
  // Of this rank's shard, in its unit.
  std::int64_t first_element(const UnitLayout& layout) const { return shard_ * layout.shard_elements; }

 private:
  // Whether this stage has each of the model's units, in their order.
  std::vector<bool> units_of_stage(const spec::RunSpec& run) const;
  std::size_t at(std::size_t unit_of_model) const;
  void initialise(const Context& context, UnitState& unit, const InitRule& init) const;

  std::int64_t shard_;  // this rank's index along fsdp
  std::vector<ModelChunk> chunks_;
  std::optional<Heading> other_embedding_;
  std::vector<UnitState> units_;
  std::vector<std::optional<std::size_t>> places_;  // in units_, of every unit of the model
};

}  // namespace perfbench::engine
