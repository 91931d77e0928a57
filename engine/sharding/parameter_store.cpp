#include "engine/sharding/parameter_store.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

Tensor persistent(Memory& memory, const UnitLayout& layout, const char* what, MemoryScope scope,
                  DType dtype = DType::f32) {
  return Tensor(memory, {layout.name + "." + what, scope, dtype, Shape{layout.shard_elements}});
}

}  // namespace

ParameterStore::ParameterStore(const Context& context, const spec::RunSpec& run, const InitRule& init,
                               bool bf16_weights)
    : shard_(context.collectives.mesh().index(Axis::fsdp)),
      chunks_(chunks_of_stage(run, stage_of_rank(context.collectives.mesh()))) {
  const bool first = chunks_.front().embeds;
  const bool last = chunks_.back().has_head;
  // Around the ring of stages the ends are neighbours.
  if (run.model.tied_embedding && first != last) other_embedding_ = first ? Heading::back : Heading::onward;
  const auto here = units_of_stage(run);
  for (auto& layout : unit_layouts(run.model, context.collectives.mesh())) {
    if (!here[places_.size()]) {
      places_.push_back(std::nullopt);
      continue;
    }
    places_.push_back(units_.size());
    UnitState unit;
    unit.weight = persistent(context.memory, layout, "weight", MemoryScope::weights);
    if (bf16_weights) {
      unit.bf16_weight = persistent(context.memory, layout, "weight_bf16", MemoryScope::weights, DType::bf16);
    }
    if (run.trains()) {
      unit.gradient = persistent(context.memory, layout, "gradient", MemoryScope::gradients);
      unit.first_moment = persistent(context.memory, layout, "first_moment", MemoryScope::optimizer);
      unit.second_moment = persistent(context.memory, layout, "second_moment", MemoryScope::optimizer);
    }
    unit.layout = std::move(layout);
    initialise(context, unit, init);
    units_.push_back(std::move(unit));
  }
}

std::vector<bool> ParameterStore::units_of_stage(const spec::RunSpec& run) const {
  std::vector<bool> here(static_cast<std::size_t>(run.model.layers) + 2);
  for (const auto& chunk : chunks_) {
    for (std::int64_t i = 0; i < chunk.layers; ++i) here[static_cast<std::size_t>(chunk.first_layer + i) + 1] = true;
  }
  here.front() = chunks_.front().embeds || other_embedding_;
  here.back() = chunks_.back().has_head;
  return here;
}

std::size_t ParameterStore::at(std::size_t unit_of_model) const {
  if (const auto place = places_.at(unit_of_model)) return *place;
  throw LogicFault("unit " + std::to_string(unit_of_model) + " of the model belongs to another stage");
}

void ParameterStore::initialise(const Context& context, UnitState& unit, const InitRule& init) const {
  for (const auto* state : {&unit.weight, &unit.gradient, &unit.first_moment, &unit.second_moment}) {
    if (state->defined()) context.ops.fill(*state, 0.0);
  }
  const std::int64_t shard_first = first_element(unit.layout);
  const std::int64_t shard_end = shard_first + unit.layout.shard_elements;
  for (const auto& p : unit.layout.parameters) {
    const std::int64_t begin = std::max(shard_first, p.offset);
    const std::int64_t end = std::min(shard_end, p.offset + p.slice.elements());
    if (begin >= end) continue;
    const bool matrix = p.spec.shape.size() >= 2;
    const bool scale = p.spec.kind == spec::ParameterKind::norm && p.spec.name.ends_with(".weight");
    context.ops.fill_normal({.out = unit.weight.view().slice(begin - shard_first, Shape{end - begin}),
                             .seed = init.seed,
                             .stream = p.spec.name,
                             .first_index = p.slice.first,
                             .skip = begin - p.offset,
                             .run = p.slice.run,
                             .stride = p.slice.stride,
                             .mean = scale ? 1.0 : 0.0,
                             .std = matrix ? init.matrix_std : init.norm_and_bias_std});
  }
  if (unit.bf16_weight.defined()) context.ops.copy(unit.bf16_weight, unit.weight);
}

}  // namespace perfbench::engine
