// What a rank has of the state that training goes on from: its part of every parameter, and of its moments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/checkpoint/element_places.h"
#include "engine/sharding/parameter_store.h"
#include "workloads/spec/checkpoint_record.h"

namespace perfbench::engine {

struct StatePart {
  std::size_t unit = 0;  // of the store
  spec::CheckpointedState state = spec::CheckpointedState::weight;
  const UnitParameter* parameter = nullptr;  // of the unit's layout, which must stay
  std::int64_t first = 0;                    // in the rank's shard of the unit
  ElementPlaces places;                      // in the whole parameter; its count is that of the part
};

// all: what the rank holds. once: without what another rank holds as well and saves, so that all ranks together have
// every element once.
enum class Replicas { all, once };
// With the moments of what trains.
std::vector<StatePart> state_parts(const Context& context, const ParameterStore& store, Replicas replicas);

// The buffer that holds a state of a unit, undefined where it has none.
const Tensor& state_tensor(const UnitState& unit, spec::CheckpointedState state);

}  // namespace perfbench::engine
