#include "engine/sharding/unit.h"

#include <algorithm>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

constexpr std::int64_t kParameterAlignment = 16;  // elements

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Parameters held by several ranks are placed next to each other.
UnitLayout lay_out(std::string name, const std::vector<spec::ParameterSpec>& parameters, const spec::ModelSpec& model,
                   const Mesh& mesh) {
  UnitLayout unit;
  unit.name = std::move(name);
  for (const auto& parameter : parameters) unit.parameters.push_back({parameter, slice_of(parameter, model, mesh)});
  std::stable_sort(unit.parameters.begin(), unit.parameters.end(),
                   [](const auto& a, const auto& b) { return a.slice.replicas > b.slice.replicas; });
  std::int64_t end = 0;
  for (auto& parameter : unit.parameters) {
    parameter.offset = end;
    end += rounded_up(parameter.slice.largest_elements, kParameterAlignment);
  }
  const std::int64_t shards = mesh.size(Axis::fsdp);
  unit.elements = rounded_up(end, kParameterAlignment * shards);
  unit.shard_elements = unit.elements / shards;
  return unit;
}

enum class LookedUp { no, yes };

// Parameters outside the layers: those that the embedding looks up, or the others.
std::vector<spec::ParameterSpec> outer_parameters(const spec::ModelSpec& model, LookedUp wanted) {
  auto parameters = spec::outer_parameters(model);
  std::erase_if(parameters, [&](const spec::ParameterSpec& parameter) {
    const bool looked_up =
        parameter.kind == spec::ParameterKind::embedding || parameter.kind == spec::ParameterKind::position;
    return looked_up != (wanted == LookedUp::yes);
  });
  return parameters;
}

// Merges neighbours with the same value into one range.
template <class Range, class Value, class ValueOf>
std::vector<Range> merged_ranges(const UnitLayout& unit, std::int64_t first, std::int64_t count, Value Range::*value,
                                 const ValueOf& value_of) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
    const bool last = i + 1 == unit.parameters.size();
    const std::int64_t begin = std::max(first, unit.parameters[i].offset);
    const std::int64_t end = std::min(first + count, last ? unit.elements : unit.parameters[i + 1].offset);
    if (begin >= end) continue;
    const Value found = value_of(unit.parameters[i]);
    if (!ranges.empty() && ranges.back().*value == found) {
      ranges.back().count += end - begin;
    } else {
      ranges.push_back({begin, end - begin, found});
    }
  }
  return ranges;
}

}  // namespace

std::string_view UnitLayout::name_in_unit(const UnitParameter& parameter) const {
  std::string_view own = parameter.spec.name;
  if (parameter.spec.layer >= 0) own.remove_prefix(name.size() + 1);  // "layers.3."
  return own;
}

std::optional<ParameterPlace> UnitLayout::place_if_any(std::string_view wanted) const {
  for (const auto& p : parameters) {
    if (name_in_unit(p) != wanted) continue;
    return ParameterPlace{p.offset, Shape(p.slice.shape)};
  }
  return std::nullopt;
}

ParameterPlace UnitLayout::place(std::string_view wanted) const {
  if (const auto found = place_if_any(wanted)) return *found;
  throw LogicFault("unit " + name + " has no parameter " + std::string(wanted));
}

void UnitLayout::require_found(std::size_t parameters_found) const {
  if (parameters_found == parameters.size()) return;
  throw LogicFault("unit " + name + " has " + std::to_string(parameters.size()) +
                   " parameters, but its user looked up " + std::to_string(parameters_found));
}

std::vector<UnitLayout::Gap> UnitLayout::padding() const {
  std::vector<Gap> gaps;
  std::int64_t end = 0;
  for (const auto& p : parameters) {
    if (p.offset > end) gaps.push_back({end, p.offset - end});
    end = p.offset + p.slice.elements();
  }
  if (elements > end) gaps.push_back({end, elements - end});
  return gaps;
}

std::vector<DecayRange> UnitLayout::decay_ranges(std::int64_t first, std::int64_t count) const {
  return merged_ranges<DecayRange>(*this, first, count, &DecayRange::decays,
                                   [](const UnitParameter& p) { return p.spec.shape.size() >= 2; });
}

std::vector<ReplicaRange> UnitLayout::replica_ranges(std::int64_t first, std::int64_t count) const {
  return merged_ranges<ReplicaRange>(*this, first, count, &ReplicaRange::replicas,
                                     [](const UnitParameter& p) { return p.slice.replicas; });
}

std::size_t unit_count(const spec::ModelSpec& model, const spec::LoraSpec& lora) {
  const auto layers = static_cast<std::size_t>(model.layers);
  return lora.used() ? 2 + 2 * layers : 2 + layers;
}

UnitLayout unit_layout(const spec::ModelSpec& model, const Mesh& mesh, const spec::LoraSpec& lora, std::size_t index) {
  const std::int64_t head = model.layers + 1;
  const auto unit = static_cast<std::int64_t>(index);
  if (unit > head) {
    const std::int64_t layer = unit - head - 1;
    return lay_out("layers." + std::to_string(layer) + ".lora", spec::layer_adapters(model, lora, layer), model, mesh);
  }
  UnitLayout of_model;
  if (unit == 0) {
    of_model = lay_out("embedding", outer_parameters(model, LookedUp::yes), model, mesh);
  } else if (unit == head) {
    of_model = lay_out("head", outer_parameters(model, LookedUp::no), model, mesh);
  } else {
    const std::int64_t layer = unit - 1;
    of_model = lay_out("layers." + std::to_string(layer), spec::layer_parameters(model, layer), model, mesh);
  }
  of_model.trains = !lora.used();
  return of_model;
}

}  // namespace perfbench::engine
