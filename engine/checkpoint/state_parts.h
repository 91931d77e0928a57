// The part of the training state that one rank holds: its part of every parameter and of its moments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/checkpoint/element_places.h"
#include "engine/sharding/parameter_store.h"
#include "workloads/spec/checkpoint_record.h"

namespace perfbench::engine {

struct StatePart {
  std::size_t unit = 0;  // index in the store
  spec::CheckpointedState state = spec::CheckpointedState::weight;
  const UnitParameter* parameter = nullptr;  // in the unit's layout, which must outlive this
  std::int64_t first = 0;                    // offset in the rank's shard of the unit
  ElementPlaces places;                      // in the whole parameter; its count is the size of this part
};

// all: everything that the rank holds. once: without the elements that another rank holds as well and saves, so that
// all ranks together have every element once.
enum class Replicas { all, once };
// Includes the moments of parameters that train.
std::vector<StatePart> state_parts(const Context& context, const ParameterStore& store, Replicas replicas);

// The buffer that holds a state of a unit; undefined if the unit has no such state.
const Tensor& state_tensor(const UnitState& unit, spec::CheckpointedState state);

}  // namespace perfbench::engine
