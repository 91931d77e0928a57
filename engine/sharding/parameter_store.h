// The part of the model that a rank keeps for the whole run, and its initial values: its shard of the weights of every
// unit of its stage, and for units that train also gradients and optimizer states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/sharding/context.h"
#include "engine/sharding/model_stage.h"
#include "engine/sharding/unit.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// This rank's part of a unit, for the whole run. All tensors are [U/fsdp] and f32, except bf16_weight, and the gradient
// and moments of runs that keep those in bf16. A frozen unit, like all units of an evaluation, has only its weight: no
// update needs it in f32, so it is kept in the type of products, rounded once to nearest even.
struct UnitState {
  UnitLayout layout;
  Tensor weight;
  Tensor bf16_weight;  // weight rounded to nearest even, if the run keeps it; every write of weight also writes this
  // in a run that updates during the backward pass it exists only from its first contribution to the update
  Tensor gradient;
  Tensor first_moment;
  Tensor second_moment;
};

// Initial values of parameters: matrices and embeddings normal(0, init_std), norm weights 1, biases 0; the a of
// adapters like matrices (as in Pax: praxis, contrib/gpu/scripts_gpu/lora_layers.py), the b 0. `constants_std` varies
// the values that start as constants: tests use it so that no gradient is trivially right.
struct InitRule {
  std::uint64_t seed = 0;
  double matrix_std = 0.02;
  double constants_std = 0.0;
};

class ParameterStore {
 public:
  // bf16_weights: keep a copy of the weights in bf16 beside those that train.
  ParameterStore(const Context& context, const spec::RunSpec& run, const InitRule& init, bool bf16_weights);

  // The chunks of this rank's stage.
  const std::vector<ModelChunk>& chunks() const { return chunks_; }
  std::vector<UnitState>& units() { return units_; }
  const std::vector<UnitState>& units() const { return units_; }
  UnitState& unit(std::size_t index) { return units_[index]; }
  // Both throw LogicFault for a unit of another stage.
  std::size_t embedding() const { return at(0); }
  std::size_t layer(std::int64_t layer) const { return at(static_cast<std::size_t>(layer) + 1); }
  std::size_t head() const { return at(head_of_model()); }
  // Absent in a run that trains the model itself.
  std::optional<std::size_t> adapters(std::int64_t layer) const {
    const std::size_t unit = head_of_model() + 1 + static_cast<std::size_t>(layer);
    return unit < places_.size() ? std::optional(at(unit)) : std::nullopt;
  }
  bool has_embedding() const { return places_.front().has_value(); }
  bool has_head() const { return places_[head_of_model()].has_value(); }
  // The first stage looks up a tied embedding and the last multiplies by it. If these are two stages, each has it, with
  // its own part of the gradient. Returns the direction from this stage to the other one; absent if there is no other.
  std::optional<Heading> other_embedding() const { return other_embedding_; }
  // Each parameter of the model belongs to one stage.
  bool belongs_here(std::size_t unit) const { return other_embedding_ != Heading::onward || unit != embedding(); }
  DType gradient_type() const { return gradient_type_; }
  // Allocates a gradient that is not kept. Its padding is 0; the first contribution writes all else.
  void open_gradient(const Context& context, std::size_t unit);
  // Frees that memory.
  void drop_gradient(std::size_t unit) { units_[unit].gradient = Tensor(); }
  // The first element of this rank's shard within its unit.
  std::int64_t first_element(const UnitLayout& layout) const { return shard_ * layout.shard_elements; }
  // Sets the weights of one kind in a unit to 0, as far as they lie in this rank's shard.
  void clear(const Context& context, std::size_t unit, spec::ParameterKind kind);

  // The part of a rank's slice of a parameter that lies in its shard.
  struct Part {
    std::int64_t first = 0;  // in the shard
    std::int64_t count = 0;
    std::int64_t skip = 0;  // elements of the slice in front of it, in other shards
  };
  Part part_here(const UnitLayout& layout, const UnitParameter& parameter) const;

 private:
  // For each of the model's units, in order, whether this stage has it.
  std::vector<bool> units_of_stage(const spec::RunSpec& run) const;
  std::size_t at(std::size_t unit_of_model) const;
  std::size_t head_of_model() const { return layers_ + 1; }
  void initialise(const Context& context, UnitState& unit, const InitRule& init) const;

  DType gradient_type_;
  std::size_t layers_;  // layers of the model
  std::int64_t shard_;  // this rank's index along fsdp
  std::vector<ModelChunk> chunks_;
  std::optional<Heading> other_embedding_;
  std::vector<UnitState> units_;
  std::vector<std::optional<std::size_t>> places_;  // for every unit of the model, its index in units_
};

}  // namespace perfbench::engine
