// A unit is what fully sharded data parallelism gathers at once: the embeddings, one layer, or the head. Its parameters
// lie one behind the other in one flat buffer "U", which is cut into equal shards over the fsdp axis ("U/fsdp"); a
// parameter may straddle two shards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/spec/parameter_table.h"

namespace perfbench::engine {

struct UnitParameter {
  spec::ParameterSpec spec;
  std::int64_t offset = 0;  // elements from the start of the unit, a multiple of 16 (64 bytes of f32)
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

  const UnitParameter& parameter(std::string_view full_name) const;
  // Whole-unit ranges that hold no parameter.
  std::vector<DecayRange> padding() const;
  // The unit's [first, first + count) by weight decay; padding joins its neighbour.
  std::vector<DecayRange> decay_ranges(std::int64_t first, std::int64_t count) const;
};

// "embedding", "layers.0" ... "layers.L-1", "head".
std::vector<UnitLayout> unit_layouts(const spec::ModelSpec& model, std::int64_t fsdp);

}  // namespace perfbench::engine
