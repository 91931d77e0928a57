#include "engine/optim/adamw.h"

#include <algorithm>
#include <cmath>

#include "engine/optim/schedule.h"

namespace perfbench::engine {

AdamwOptimizer::AdamwOptimizer(Context& context, const spec::OptimizerSpec& spec)
    : context_(context),
      spec_(spec),
      square_sum_(context.memory, {"grad_square_sum", MemoryScope::workspace, DType::f64, Shape{1}}) {}

double AdamwOptimizer::global_norm(Fsdp& fsdp) {
  Write write = Write::overwrite;
  for (auto& unit : fsdp.units()) {
    context_.ops.sum_of_squares(square_sum_, unit.gradient, write);
    write = Write::accumulate;
  }
  // Shards of one replica add up to the whole; replicas hold the same.
  if (context_.collectives.mesh().size(MeshAxis::fsdp) > 1) {
    PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
    context_.collectives.all_reduce(MeshAxis::fsdp, square_sum_).wait();
  }
  return std::sqrt(context_.ops.read_f64(square_sum_));
}

UpdateResult AdamwOptimizer::update(Fsdp& fsdp, std::int64_t step) {
  PhaseClock::Scope scope(context_.clock, Phase::optimizer);
  UpdateResult result;
  result.grad_norm = global_norm(fsdp);
  result.learning_rate = learning_rate(spec_, step);
  // Keeps a zero norm from dividing by zero, as the reference implementations do.
  constexpr double kNormFloor = 1e-6;
  const double clip = spec_.clip_norm > 0 ? std::min(1.0, spec_.clip_norm / (result.grad_norm + kNormFloor)) : 1.0;
  const auto t = static_cast<double>(step + 1);
  const AdamwArgs common{.learning_rate = result.learning_rate,
                         .beta1 = spec_.beta1,
                         .beta2 = spec_.beta2,
                         .eps = spec_.eps,
                         .bias_correction1 = 1.0 - std::pow(spec_.beta1, t),
                         .bias_correction2 = 1.0 - std::pow(spec_.beta2, t),
                         .gradient_scale = clip};
  for (auto& unit : fsdp.units()) update_unit(unit, common);
  return result;
}

void AdamwOptimizer::update_unit(UnitState& unit, const AdamwArgs& common) {
  const auto& layout = unit.layout;
  const std::int64_t shard_first = context_.collectives.mesh().index(MeshAxis::fsdp) * layout.shard_elements;
  for (const auto& range : layout.decay_ranges(shard_first, layout.shard_elements)) {
    const std::int64_t first = range.first - shard_first;
    const Shape shape{range.count};
    AdamwArgs args = common;
    args.weight = unit.weight.view().slice(first, shape);
    args.gradient = unit.gradient.view().slice(first, shape);
    args.first_moment = unit.first_moment.view().slice(first, shape);
    args.second_moment = unit.second_moment.view().slice(first, shape);
    args.weight_decay = range.decays ? spec_.weight_decay : 0.0;
    context_.ops.adamw(args);
  }
}

}  // namespace perfbench::engine
