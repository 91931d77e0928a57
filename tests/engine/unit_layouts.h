#pragma once

#include <vector>

#include "engine/sharding/unit.h"

namespace perfbench::engine {

// All units of a model in their order.
inline std::vector<UnitLayout> unit_layouts(const spec::ModelSpec& model, const Mesh& mesh,
                                            const spec::LoraSpec& lora = {}) {
  std::vector<UnitLayout> units;
  for (std::size_t i = 0; i < unit_count(model, lora); ++i) units.push_back(unit_layout(model, mesh, lora, i));
  return units;
}

}  // namespace perfbench::engine
