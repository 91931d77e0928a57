#include "engine/checkpoint/state_parts.h"

#include <algorithm>
#include <array>

namespace perfbench::engine {
namespace {

constexpr std::array kStatesOfParameters{spec::CheckpointedState::weight, spec::CheckpointedState::first_moment,
                                         spec::CheckpointedState::second_moment};

// A slice that is not cut has no stride.
ElementPlaces places_of(const ParameterSlice& slice, const ParameterStore::Part& part) {
  return {.first = slice.first,
          .run = slice.run,
          .stride = std::max(slice.stride, slice.run),
          .skip = part.skip,
          .count = part.count};
}

// Replicas along dp hold the same values, as do those along tp and ep of parameters not cut along these axes, and both
// ends of a pipeline for a tied embedding.
bool saves(const Mesh& mesh, const ParameterStore& store, std::size_t unit, const UnitParameter& parameter) {
  return mesh.index(Axis::dp) == 0 && mesh.index(parameter.slice.replicas) == 0 && store.belongs_here(unit);
}

}  // namespace

std::vector<StatePart> state_parts(const Context& context, const ParameterStore& store, Replicas replicas) {
  const Mesh& mesh = context.collectives.mesh();
  std::vector<StatePart> out;
  for (std::size_t i = 0; i < store.units().size(); ++i) {
    const UnitState& unit = store.units()[i];
    for (const auto& parameter : unit.layout.parameters) {
      const auto part = store.part_here(unit.layout, parameter);
      if (part.count == 0 || (replicas == Replicas::once && !saves(mesh, store, i, parameter))) continue;
      for (const auto state : kStatesOfParameters) {
        if (!state_tensor(unit, state).defined()) continue;
        out.push_back({.unit = i,
                       .state = state,
                       .parameter = &parameter,
                       .first = part.first,
                       .places = places_of(parameter.slice, part)});
      }
    }
  }
  return out;
}

const Tensor& state_tensor(const UnitState& unit, spec::CheckpointedState state) {
  switch (state) {
    case spec::CheckpointedState::first_moment:
      return unit.first_moment;
    case spec::CheckpointedState::second_moment:
      return unit.second_moment;
    case spec::CheckpointedState::weight:
    case spec::CheckpointedState::amax_history:  // belongs to no unit
      break;
  }
  return unit.weight;
}

}  // namespace perfbench::engine
