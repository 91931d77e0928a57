#include "engine/sharding/parameter_store.h"

#include <algorithm>
#include <utility>

namespace perfbench::engine {
namespace {

Tensor persistent(Memory& memory, const UnitLayout& layout, const char* what, MemoryScope scope,
                  DType dtype = DType::f32) {
  return Tensor(memory, {layout.name + "." + what, scope, dtype, Shape{layout.shard_elements}});
}

}  // namespace

ParameterStore::ParameterStore(const Context& context, const spec::ModelSpec& model, const InitRule& init,
                               bool bf16_weights)
    : shard_(context.collectives.mesh().index(Axis::fsdp)) {
  for (auto& layout : unit_layouts(model, context.collectives.mesh())) {
    UnitState unit;
    unit.weight = persistent(context.memory, layout, "weight", MemoryScope::weights);
    if (bf16_weights) {
      unit.bf16_weight = persistent(context.memory, layout, "weight_bf16", MemoryScope::weights, DType::bf16);
    }
    unit.gradient = persistent(context.memory, layout, "gradient", MemoryScope::gradients);
    unit.first_moment = persistent(context.memory, layout, "first_moment", MemoryScope::optimizer);
    unit.second_moment = persistent(context.memory, layout, "second_moment", MemoryScope::optimizer);
    unit.layout = std::move(layout);
    initialise(context, unit, init);
    units_.push_back(std::move(unit));
  }
}

void ParameterStore::initialise(const Context& context, UnitState& unit, const InitRule& init) const {
  for (const auto* state : {&unit.weight, &unit.gradient, &unit.first_moment, &unit.second_moment}) {
    context.ops.fill(*state, 0.0);
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
