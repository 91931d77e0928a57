// A unit is what fully sharded data parallelism gathers at once: the embeddings, one layer, or the head. Its parameters
// lie one behind the other in one flat buffer "U", which is cut into equal shards over the fsdp axis ("U/fsdp"); a
// parameter may straddle two shards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/shape.h"
#include "workloads/spec/parameter_table.h"

namespace perfbench::engine {

struct UnitParameter {
  spec::ParameterSpec spec;
  std::int64_t offset = 0;  // elements from the start of the unit, a multiple of 16 (64 bytes of f32)
};

// Where a parameter lies in its unit.
struct ParameterPlace {
  std::int64_t offset = 0;
  Shape shape;
};

// A run of elements with one rule of weight decay.
struct DecayRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool decays = false;  // parameters of two or more dims do
};

struct UnitLayout {
  std::string name;  // "embedding", "layers.3", "head"
  std::vector<UnitParameter> parameters;
  std::int64_t elements = 0;        // with the padding that makes it divide over fsdp
  std::int64_t shard_elements = 0;  // elements / fsdp

  // By the name within the unit, "query.weight" in every layer. Throws LogicFault for one that the unit does not have.
  ParameterPlace place(std::string_view name_in_unit) const;
  // Nothing where the model has none, as a bias.
  std::optional<ParameterPlace> place_if_any(std::string_view name_in_unit) const;
  // Who looks parameters up has found all of them: throws LogicFault unless there are as many. One that is not looked up
  // would keep another buffer's old values for a gradient.
  void require_found(std::size_t parameters_found) const;
  // Whole-unit ranges that hold no parameter.
  std::vector<DecayRange> padding() const;
  // The unit's [first, first + count) by weight decay; padding joins its neighbour.
  std::vector<DecayRange> decay_ranges(std::int64_t first, std::int64_t count) const;
};

// "embedding", "layers.0" ... "layers.L-1", "head".
std::vector<UnitLayout> unit_layouts(const spec::ModelSpec& model, std::int64_t fsdp);

}  // namespace perfbench::engine
