// What a rank keeps of the model for the whole run: of every unit of its stage the shard of its weights, of those that
// train gradients and optimizer states too, and how they begin.
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

// This rank's part of a unit, for the whole run. All [U/fsdp], f32 but for bf16_weight, and for gradient and moments of
// runs that keep those in bf16. A frozen unit, as all are of a
// run that evaluates, has its weight alone: no update needs it in f32, so it is kept in the type of products, rounded
// once to nearest even.
struct UnitState {
  UnitLayout layout;
  Tensor weight;
  Tensor bf16_weight;  // weight, rounded to nearest even, where the run keeps it; whoever writes weight writes it too
  Tensor gradient;     // of a run that updates in the backward pass: from its first contribution to the update
  Tensor first_moment;
  Tensor second_moment;
};

// How parameters begin: matrices and embeddings normal(0, init_std), norm weights 1, biases 0; of adapters a as the
// matrices (as Pax's: praxis, contrib/gpu/scripts_gpu/lora_layers.py), b at 0.
// `constants_std` spreads what begins as a constant: tests use it so that no gradient is trivially right.
struct InitRule {
  std::uint64_t seed = 0;
  double matrix_std = 0.02;
  double constants_std = 0.0;
};

class ParameterStore {
 public:
  // bf16_weights: a copy of the weights in bf16 is kept beside those that train.
  ParameterStore(const Context& context, const spec::RunSpec& run, const InitRule& init, bool bf16_weights);

  // Of this rank's stage.
  const std::vector<ModelChunk>& chunks() const { return chunks_; }
  std::vector<UnitState>& units() { return units_; }
  const std::vector<UnitState>& units() const { return units_; }
  UnitState& unit(std::size_t index) { return units_[index]; }
  // Throw LogicFault for a unit of another stage.
  std::size_t embedding() const { return at(0); }
  std::size_t layer(std::int64_t layer) const { return at(static_cast<std::size_t>(layer) + 1); }
  std::size_t head() const { return at(head_of_model()); }
  // Nothing in a run that trains the model itself.
  std::optional<std::size_t> adapters(std::int64_t layer) const {
    const std::size_t unit = head_of_model() + 1 + static_cast<std::size_t>(layer);
    return unit < places_.size() ? std::optional(at(unit)) : std::nullopt;
  }
  bool has_embedding() const { return places_.front().has_value(); }
  bool has_head() const { return places_[head_of_model()].has_value(); }
  // A tied embedding is looked up by the first stage and multiplies in the last: where those are two, each has it, with
  // its own part of the gradient. From this one, where the other is; nothing where there is no other.
  std::optional<Heading> other_embedding() const { return other_embedding_; }
  // Each parameter of the model belongs to one stage.
  bool belongs_here(std::size_t unit) const { return other_embedding_ != Heading::onward || unit != embedding(); }
  DType gradient_type() const { return gradient_type_; }
  // The gradient's memory, where it is not kept. Its padding is 0, all else is for the first contribution to write.
  void open_gradient(const Context& context, std::size_t unit);
  // Gives that back.
  void drop_gradient(std::size_t unit) { units_[unit].gradient = Tensor(); }
  // Of this rank's shard, in its unit.
  std::int64_t first_element(const UnitLayout& layout) const { return shard_ * layout.shard_elements; }
  // The weights of one kind in a unit become 0, as far as they lie in this rank's shard.
  void clear(const Context& context, std::size_t unit, spec::ParameterKind kind);

  // What a rank's shard has of its slice of a parameter.
  struct Part {
    std::int64_t first = 0;  // in the shard
    std::int64_t count = 0;
    std::int64_t skip = 0;  // elements of the slice, which other shards have
  };
  Part part_here(const UnitLayout& layout, const UnitParameter& parameter) const;

 private:
  // Whether this stage has each of the model's units, in their order.
  std::vector<bool> units_of_stage(const spec::RunSpec& run) const;
  std::size_t at(std::size_t unit_of_model) const;
  std::size_t head_of_model() const { return layers_ + 1; }
  void initialise(const Context& context, UnitState& unit, const InitRule& init) const;

  DType gradient_type_;
  std::size_t layers_;  // of the model
  std::int64_t shard_;  // this rank's index along fsdp
  std::vector<ModelChunk> chunks_;
  std::optional<Heading> other_embedding_;
  std::vector<UnitState> units_;
  std::vector<std::optional<std::size_t>> places_;  // in units_, of every unit of the model
};

}  // namespace perfbench::engine
