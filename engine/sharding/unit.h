// A unit is what fully sharded data parallelism gathers at once: the embeddings, one layer, the head, or, in a run that
// trains adapters (workloads/spec/lora_spec.h), the adapters of one layer; the model's own units are frozen then. This
// rank's slices of its parameters (over tp and ep) lie one behind the other in one flat buffer "U", which is cut into
// equal shards over the fsdp axis ("U/fsdp"); a parameter may straddle two shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/shape.h"
#include "engine/sharding/parameter_slice.h"

namespace perfbench::engine {

struct UnitParameter {
  spec::ParameterSpec spec;
  ParameterSlice slice;
  std::int64_t offset = 0;  // elements from the start of the unit, a multiple of 16 (64 bytes of f32)
};

// Where a parameter lies in its unit.
struct ParameterPlace {
  std::int64_t offset = 0;
  Shape shape;
};

// Runs of elements with equal treatment. Padding belongs to its neighbour.
struct DecayRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool decays = false;  // whether weight decay applies: to parameters of two or more dims
};
struct ReplicaRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  AxisSet replicas = {};  // axes of tp and ep whose ranks hold the same, each with its own part of the gradient
};

struct UnitLayout {
  std::string name;  // "embedding", "layers.3", "head", "layers.3.lora"
  std::vector<UnitParameter> parameters;
  std::int64_t elements = 0;        // including the padding that makes it divide over fsdp
  std::int64_t shard_elements = 0;  // elements / fsdp
  bool trains = true;               // false: frozen, without gradient and in the type of products

  // The name without that of the layer: "query.weight" in every layer.
  std::string_view name_in_unit(const UnitParameter& parameter) const;
  // Looked up by the name within the unit. Throws LogicFault if the unit does not have it.
  ParameterPlace place(std::string_view wanted) const;
  // Absent if the model does not have it, such as a bias.
  std::optional<ParameterPlace> place_if_any(std::string_view wanted) const;
  // Checks that the caller looked up every parameter: throws LogicFault unless the number is right. A parameter that is
  // not looked up would keep another buffer's old values as its gradient.
  void require_found(std::size_t parameters_found) const;
  // Ranges of the whole unit that hold no parameter.
  struct Gap {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  std::vector<Gap> padding() const;
  // The ranges within the unit's [first, first + count).
  std::vector<DecayRange> decay_ranges(std::int64_t first, std::int64_t count) const;
  std::vector<ReplicaRange> replica_ranges(std::int64_t first, std::int64_t count) const;
};

// "embedding", "layers.0" ... "layers.L-1", "head", and with adapters "layers.0.lora" ... "layers.L-1.lora". They have
// the same size and the same offsets on every rank. They are made one by one, because a stage has only a few of them.
std::size_t unit_count(const spec::ModelSpec& model, const spec::LoraSpec& lora);
UnitLayout unit_layout(const spec::ModelSpec& model, const Mesh& mesh, const spec::LoraSpec& lora, std::size_t index);

}  // namespace perfbench::engine
