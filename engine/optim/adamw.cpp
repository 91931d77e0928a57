#include "engine/optim/adamw.h"

#include <array>
#include <cmath>

#include "engine/optim/schedule.h"
#include "workloads/spec/optimizer_spec.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

AdamwOptimizer::AdamwOptimizer(Context& context, const spec::RunSpec& run)
    : context_(context),
      spec_(run.optimizer),
      seed_(static_cast<std::uint64_t>(run.seed)),
      square_sum_(context.memory, {"grad_square_sum", MemoryScope::workspace, DType::f64, Shape{1}}),
      factors_(context.memory, {"adamw_factors", MemoryScope::workspace, DType::f64, Shape{kAdamwFactors}}) {
  if (spec_.moments == spec::StateType::fp32) return;
  step_ = Tensor(context.memory, {"adamw_step", MemoryScope::workspace, DType::i32, Shape{1}});
}

void AdamwOptimizer::begin(std::int64_t step) {
  PhaseClock::Scope scope(context_.clock, Phase::optimizer);
  const auto t = static_cast<double>(step + 1);
  std::array<double, kAdamwFactors> factors{};
  factors[index(AdamwFactor::learning_rate)] = learning_rate(spec_, step);
  factors[index(AdamwFactor::bias_correction1)] = 1.0 - std::pow(spec_.beta1, t);
  factors[index(AdamwFactor::bias_correction2)] = 1.0 - std::pow(spec_.beta2, t);
  factors[index(AdamwFactor::gradient_scale)] = 1.0;  // until the norm is known
  context_.ops.upload(factors_, factors.data());
  if (!step_.defined()) return;
  const auto number = static_cast<std::int32_t>(step);
  context_.ops.upload(step_, &number);
}

// Counts each element of the model once. Stages, shards, and slices over tp and ep add up; of an element that several
// ranks hold, the first rank's counts; data replicas hold the same.
void AdamwOptimizer::append_gradients(const ParameterStore& store, std::size_t index,
                                      std::vector<TensorView>& gradients) const {
  const auto& unit = store.units()[index];
  if (!unit.layout.trains || !store.belongs_here(index)) return;
  const std::int64_t shard_first = store.first_element(unit.layout);
  for (const auto& range : unit.layout.replica_ranges(shard_first, unit.layout.shard_elements)) {
    if (context_.collectives.mesh().index(range.replicas) != 0) continue;
    gradients.push_back(unit.gradient.view().slice(range.first - shard_first, Shape{range.count}));
  }
}

void AdamwOptimizer::sum_over_ranks() {
  if (context_.collectives.mesh().size(kModelAxes) == 1) return;
  PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
  context_.collectives.all_reduce(kModelAxes, square_sum_, Lane::in_line).wait();
}

void AdamwOptimizer::apply(const std::vector<AdamwTensor>& tensors) {
  context_.ops.adamw({.tensors = tensors,
                      .factors = factors_,
                      .step = step_.defined() ? step_.view() : TensorView{},
                      .beta1 = spec_.beta1,
                      .beta2 = spec_.beta2,
                      .eps = spec_.eps});
}

void AdamwOptimizer::update(const ParameterStore& store) {
  PhaseClock::Scope scope(context_.clock, Phase::optimizer);
  std::vector<TensorView> gradients;
  for (std::size_t i = 0; i < store.units().size(); ++i) append_gradients(store, i, gradients);
  if (gradients.empty()) {
    context_.ops.fill(square_sum_, 0.0);
  } else {
    context_.ops.sum_of_squares(square_sum_, gradients, Write::overwrite);
  }
  sum_over_ranks();
  const auto scale_at = static_cast<std::int64_t>(index(AdamwFactor::gradient_scale));
  context_.ops.clip_scale(factors_.view().slice(scale_at, Shape{1}), square_sum_, spec_.clip_norm);
  std::vector<AdamwTensor> tensors;
  for (const auto& unit : store.units()) {
    if (unit.layout.trains) append_tensors(store, unit, tensors);
  }
  apply(tensors);
}

void AdamwOptimizer::update_unit(const ParameterStore& store, std::size_t unit) {
  PhaseClock::Scope scope(context_.clock, Phase::optimizer);
  std::vector<TensorView> gradients;
  append_gradients(store, unit, gradients);
  context_.ops.sum_of_squares(square_sum_, gradients, summed_ ? Write::accumulate : Write::overwrite);
  summed_ = true;
  std::vector<AdamwTensor> tensors;
  append_tensors(store, store.units()[unit], tensors);
  apply(tensors);
}

void AdamwOptimizer::finish_units() {
  PhaseClock::Scope scope(context_.clock, Phase::optimizer);
  summed_ = false;
  sum_over_ranks();
}

void AdamwOptimizer::append_tensors(const ParameterStore& store, const UnitState& unit,
                                    std::vector<AdamwTensor>& tensors) const {
  const auto& layout = unit.layout;
  const std::int64_t shard_first = store.first_element(layout);
  const RngStream draws(seed_, "moments of " + layout.name);
  for (const auto& range : layout.decay_ranges(shard_first, layout.shard_elements)) {
    const std::int64_t first = range.first - shard_first;
    const Shape shape{range.count};
    tensors.push_back(
        {.weight = unit.weight.view().slice(first, shape),
         .gradient = unit.gradient.view().slice(first, shape),
         .first_moment = unit.first_moment.view().slice(first, shape),
         .second_moment = unit.second_moment.view().slice(first, shape),
         .weight_decay = range.decays ? spec_.weight_decay : 0.0,
         .bf16_weight = unit.bf16_weight.defined() ? unit.bf16_weight.view().slice(first, shape) : TensorView{},
         .draws = draws,
         .first_index = range.first});
  }
}

double AdamwOptimizer::grad_norm() {
  return std::sqrt(context_.ops.read_f64(square_sum_));
}

}  // namespace perfbench::engine
