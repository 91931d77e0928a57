#include "engine/sharding/unit.h"

#include <algorithm>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

constexpr std::int64_t kParameterAlignment = 16;  // elements

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

UnitLayout lay_out(std::string name, const std::vector<spec::ParameterSpec>& parameters, std::int64_t fsdp) {
  UnitLayout unit;
  unit.name = std::move(name);
  std::int64_t end = 0;
  for (const auto& parameter : parameters) {
    unit.parameters.push_back({parameter, end});
    end += rounded_up(parameter.elements(), kParameterAlignment);
  }
  unit.elements = rounded_up(end, kParameterAlignment * fsdp);
  unit.shard_elements = unit.elements / fsdp;
  return unit;
}

}  // namespace

std::optional<ParameterPlace> UnitLayout::place_if_any(std::string_view name_in_unit) const {
  for (const auto& p : parameters) {
    std::string_view own = p.spec.name;
    if (p.spec.layer >= 0) own.remove_prefix(name.size() + 1);  // "layers.3."
    if (own != name_in_unit) continue;
    const auto& shape = p.spec.shape;
    return ParameterPlace{p.offset, shape.size() == 1 ? Shape{shape[0]} : Shape{shape[0], shape[1]}};
  }
  return std::nullopt;
}

ParameterPlace UnitLayout::place(std::string_view name_in_unit) const {
  if (const auto found = place_if_any(name_in_unit)) return *found;
  throw LogicFault("unit " + name + " has no parameter " + std::string(name_in_unit));
}

void UnitLayout::require_found(std::size_t parameters_found) const {
  if (parameters_found == parameters.size()) return;
  throw LogicFault("unit " + name + " has " + std::to_string(parameters.size()) + " parameters, its user found " +
                   std::to_string(parameters_found));
}

std::vector<DecayRange> UnitLayout::padding() const {
  std::vector<DecayRange> gaps;
  std::int64_t end = 0;
  for (const auto& p : parameters) {
    if (p.offset > end) gaps.push_back({end, p.offset - end, false});
    end = p.offset + p.spec.elements();
  }
  if (elements > end) gaps.push_back({end, elements - end, false});
  return gaps;
}

std::vector<DecayRange> UnitLayout::decay_ranges(std::int64_t first, std::int64_t count) const {
  std::vector<DecayRange> ranges;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool last = i + 1 == parameters.size();
    const std::int64_t begin = std::max(first, parameters[i].offset);
    const std::int64_t end = std::min(first + count, last ? elements : parameters[i + 1].offset);
    if (begin >= end) continue;
    const bool decays = parameters[i].spec.shape.size() >= 2;
    if (!ranges.empty() && ranges.back().decays == decays) {
      ranges.back().count += end - begin;
    } else {
      ranges.push_back({begin, end - begin, decays});
    }
  }
  return ranges;
}

std::vector<UnitLayout> unit_layouts(const spec::ModelSpec& model, std::int64_t fsdp) {
  std::vector<spec::ParameterSpec> embedding;
  std::vector<spec::ParameterSpec> head;
  for (auto& parameter : spec::outer_parameters(model)) {
    const bool looked_up =
        parameter.kind == spec::ParameterKind::embedding || parameter.kind == spec::ParameterKind::position;
    (looked_up ? embedding : head).push_back(std::move(parameter));
  }
  std::vector<UnitLayout> units;
  units.push_back(lay_out("embedding", embedding, fsdp));
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    units.push_back(lay_out("layers." + std::to_string(layer), spec::layer_parameters(model, layer), fsdp));
  }
  units.push_back(lay_out("head", head, fsdp));
  return units;
}

}  // namespace perfbench::engine
