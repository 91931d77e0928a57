#include "engine/sharding/parameter_store.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/core/error.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

Tensor persistent(Memory& memory, const UnitLayout& layout, const char* what, MemoryScope scope,
                  DType dtype = DType::f32) {
  return Tensor(memory, {layout.name + "." + what, scope, dtype, Shape{layout.shard_elements}});
}

Tensor new_gradient(const Context& context, const UnitLayout& layout, DType type) {
  return persistent(context.memory, layout, "gradient", MemoryScope::gradients, type);
}

DType dtype_of(spec::StateType type) {
  return type == spec::StateType::bf16 ? DType::bf16 : DType::f32;
}

// State of a unit that trains.
struct KeptState {
  bool bf16_weights = false;
  std::optional<DType> gradients;
  DType moments = DType::f32;
};

UnitState unit_state(const Context& context, UnitLayout layout, const KeptState& kept) {
  UnitState unit;
  unit.weight =
      persistent(context.memory, layout, "weight", MemoryScope::weights, layout.trains ? DType::f32 : context.compute);
  if (layout.trains) {
    if (kept.bf16_weights) {
      unit.bf16_weight = persistent(context.memory, layout, "weight_bf16", MemoryScope::weights, DType::bf16);
    }
    if (kept.gradients) unit.gradient = new_gradient(context, layout, *kept.gradients);
    unit.first_moment = persistent(context.memory, layout, "first_moment", MemoryScope::optimizer, kept.moments);
    unit.second_moment = persistent(context.memory, layout, "second_moment", MemoryScope::optimizer, kept.moments);
  }
  unit.layout = std::move(layout);
  return unit;
}

// Sets the draws' mean and the deviation from it.
void set_distribution(Ops::NormalArgs& draws, const spec::ParameterSpec& parameter, const InitRule& init) {
  const bool scale = parameter.kind == spec::ParameterKind::norm && parameter.name.ends_with(".weight");
  const bool constant = parameter.shape.size() < 2 || parameter.kind == spec::ParameterKind::adapter_b;
  draws.mean = scale ? 1.0 : 0.0;
  draws.std = constant ? init.constants_std : init.matrix_std;
}

// Draws are f32; those of a weight of another type are rounded in pieces of this size.
constexpr std::int64_t kRoundedAtOnce = std::int64_t{1} << 20;

void draw(const Context& context, Ops::NormalArgs draws) {
  const TensorView weight = draws.out;
  if (weight.dtype == DType::f32) {
    context.ops.fill_normal(draws);
    return;
  }
  const std::int64_t elements = weight.elements();
  const Tensor drawn = context.workspace_f32("initial_weights", Shape{std::min(elements, kRoundedAtOnce)});
  for (std::int64_t first = 0; first < elements; first += kRoundedAtOnce) {
    const Shape piece{std::min(kRoundedAtOnce, elements - first)};
    draws.out = drawn.view().slice(0, piece);
    context.ops.fill_normal(draws);
    context.ops.copy(weight.slice(first, piece), draws.out);
    draws.skip += piece.elements();
  }
}

}  // namespace

ParameterStore::ParameterStore(const Context& context, const spec::RunSpec& run, const InitRule& init,
                               bool bf16_weights)
    : gradient_type_(dtype_of(run.optimizer.gradients)),
      layers_(static_cast<std::size_t>(run.model.layers)),
      shard_(context.collectives.mesh().index(Axis::fsdp)),
      chunks_(chunks_of_stage(run, stage_of_rank(context.collectives.mesh()))) {
  const bool first = chunks_.front().embeds;
  const bool last = chunks_.back().has_head;
  // The ends of the pipeline are neighbours around the ring of stages.
  if (run.model.tied_embedding && first != last) other_embedding_ = first ? Heading::back : Heading::onward;
  KeptState kept{.bf16_weights = bf16_weights, .moments = dtype_of(run.optimizer.moments)};
  if (!run.optimizer.in_backward) kept.gradients = gradient_type_;
  const auto here = units_of_stage(run);
  places_.resize(here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (!here[i]) continue;
    places_[i] = units_.size();
    UnitLayout layout = unit_layout(run.model, context.collectives.mesh(), run.lora, i);
    // In a run that only evaluates, no unit trains.
    layout.trains = layout.trains && run.trains();
    UnitState unit = unit_state(context, std::move(layout), kept);
    initialise(context, unit, init);
    units_.push_back(std::move(unit));
  }
}

std::vector<bool> ParameterStore::units_of_stage(const spec::RunSpec& run) const {
  std::vector<bool> here(unit_count(run.model, run.lora));
  for (const auto& chunk : chunks_) {
    for (std::int64_t i = 0; i < chunk.layers; ++i) {
      const auto layer = static_cast<std::size_t>(chunk.first_layer + i);
      here[layer + 1] = true;
      if (run.lora.used()) here[head_of_model() + 1 + layer] = true;
    }
  }
  here.front() = chunks_.front().embeds || other_embedding_;
  here[head_of_model()] = chunks_.back().has_head;
  return here;
}

std::size_t ParameterStore::at(std::size_t unit_of_model) const {
  if (const auto place = places_.at(unit_of_model)) return *place;
  throw LogicFault("unit " + std::to_string(unit_of_model) + " of the model belongs to another stage");
}

ParameterStore::Part ParameterStore::part_here(const UnitLayout& layout, const UnitParameter& parameter) const {
  const std::int64_t shard_first = first_element(layout);
  const std::int64_t begin = std::max(shard_first, parameter.offset);
  const std::int64_t end = std::min(shard_first + layout.shard_elements, parameter.offset + parameter.slice.elements());
  if (begin >= end) return {};
  return {.first = begin - shard_first, .count = end - begin, .skip = begin - parameter.offset};
}

void ParameterStore::open_gradient(const Context& context, std::size_t index) {
  UnitState& unit = units_[index];
  unit.gradient = new_gradient(context, unit.layout, gradient_type_);
  const std::int64_t first = first_element(unit.layout);
  for (const auto& gap : unit.layout.padding()) {
    const std::int64_t begin = std::max(first, gap.first);
    const std::int64_t end = std::min(first + unit.layout.shard_elements, gap.first + gap.count);
    if (begin < end) context.ops.fill(unit.gradient.view().slice(begin - first, Shape{end - begin}), 0.0);
  }
}

void ParameterStore::clear(const Context& context, std::size_t index, spec::ParameterKind kind) {
  const UnitState& unit = units_[index];
  for (const auto& p : unit.layout.parameters) {
    const Part part = part_here(unit.layout, p);
    if (p.spec.kind != kind || part.count == 0) continue;
    for (const auto* weight : {&unit.weight, &unit.bf16_weight}) {
      if (weight->defined()) context.ops.fill(weight->view().slice(part.first, Shape{part.count}), 0.0);
    }
  }
}

void ParameterStore::initialise(const Context& context, UnitState& unit, const InitRule& init) const {
  for (const auto* state : {&unit.weight, &unit.gradient, &unit.first_moment, &unit.second_moment}) {
    if (state->defined()) context.ops.fill(*state, 0.0);
  }
  for (const auto& p : unit.layout.parameters) {
    const Part part = part_here(unit.layout, p);
    if (part.count == 0) continue;
    Ops::NormalArgs draws{.out = unit.weight.view().slice(part.first, Shape{part.count}),
                          .seed = init.seed,
                          .stream = p.spec.name,
                          .first_index = p.slice.first,
                          .skip = part.skip,
                          .run = p.slice.run,
                          .stride = p.slice.stride};
    set_distribution(draws, p.spec, init);
    draw(context, draws);
  }
  if (unit.bf16_weight.defined()) context.ops.copy(unit.bf16_weight, unit.weight);
}

}  // namespace perfbench::engine
