#include "engine/sharding/unit_gatherer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace perfbench::engine {

void GatheredUnit::wait(PhaseClock& clock) {
  PhaseClock::Scope scope(clock, Phase::exposed_comm);
  pending_.wait();
  cast_shard_.reset();
}

UnitGatherer::UnitGatherer(const Context& context, ParameterStore& store, const Options& options)
    : context_(context),
      store_(store),
      shards_(context.collectives.mesh().size(Axis::fsdp)),
      options_(options),
      progress_(store.units().size()) {
  if (options_.cast.rounding == spec::Rounding::stochastic) {
    rounding_step_ = Tensor(context.memory, {"rounding_step", MemoryScope::workspace, DType::i32, Shape{1}});
  }
}

void UnitGatherer::begin_step(std::int64_t step) {
  std::fill(progress_.begin(), progress_.end(), Progress{});
  if (!rounding_step_.defined()) return;
  const auto number = static_cast<std::int32_t>(step);
  context_.ops.upload(rounding_step_, &number);
}

void UnitGatherer::cast(TensorView out, const UnitState& unit) {
  if (!rounding_step_.defined()) {
    context_.ops.copy(out, unit.weight);
    return;
  }
  const std::string stream = "rounding of " + unit.layout.name;
  context_.ops.cast_stochastic({.out = out,
                                .in = unit.weight,
                                .step = rounding_step_,
                                .seed = options_.cast.seed,
                                .stream = stream,
                                .first_index = store_.first_element(unit.layout)});
}

GatheredUnit UnitGatherer::gather(std::size_t index) {
  const UnitState& unit = store_.unit(index);
  GatheredUnit gathered;
  TensorView shard = unit.weight;
  if (unit.bf16_weight.defined()) {
    shard = unit.bf16_weight;
  } else if (shard.dtype != context_.compute) {
    gathered.cast_shard_ = Tensor(
        context_.memory, {unit.layout.name + ".weight_cast", MemoryScope::gathered, context_.compute, shard.shape});
    cast(gathered.cast_shard_, unit);
    shard = gathered.cast_shard_;
  }
  if (shards_ == 1) {
    gathered.buffer_ = std::move(gathered.cast_shard_);
    gathered.whole_ = shard;
    return gathered;
  }
  gathered.buffer_ = Tensor(context_.memory, {unit.layout.name + ".weight_gathered", MemoryScope::gathered,
                                              context_.compute, Shape{unit.layout.elements}});
  gathered.whole_ = gathered.buffer_;
  gathered.pending_ = context_.collectives.all_gather("U/fsdp -> U", gathered.whole_, shard, Lane::background);
  return gathered;
}

void UnitGatherer::put_back(std::size_t index, const GatheredUnit& gathered) {
  if (shards_ == 1) return;  // the unit's own weights were written
  const UnitState& unit = store_.unit(index);
  context_.ops.copy(unit.weight,
                    gathered.whole_.slice(store_.first_element(unit.layout), Shape{unit.layout.shard_elements}));
}

GradientTarget UnitGatherer::open_gradient(std::size_t index) {
  const UnitState& unit = store_.unit(index);
  GradientTarget target;
  target.unit_ = index;
  target.opened_after_ = submitted_;
  if (!unit.layout.trains) return target;
  if (!unit.gradient.defined()) store_.open_gradient(context_, index);
  if (writes_in_place()) {
    target.whole_ = unit.gradient;
    const bool first = !progress_[index].begun;
    target.first_write_ = first ? Write::overwrite : Write::accumulate;
    if (first && options_.microbatches > 1) target.additions_ = Additions::follow;
    return target;
  }
  target.buffer_ = Tensor(context_.memory, {unit.layout.name + ".gradient_whole", MemoryScope::gathered, DType::f32,
                                            Shape{unit.layout.elements}});
  target.whole_ = target.buffer_;
  // No operation writes the gaps between parameters, and they are summed with the rest.
  for (const auto& gap : unit.layout.padding()) {
    context_.ops.fill(target.whole_.slice(gap.first, Shape{gap.count}), 0.0);
  }
  return target;
}

void UnitGatherer::close_gradient(GradientTarget target, Contribution contribution) {
  if (!target.whole_.defined()) return;
  const std::size_t index = target.unit_;
  auto& progress = progress_[index];
  const bool first = !std::exchange(progress.begun, true);
  if (contribution == Contribution::final_one) ++progress.microbatches;
  const bool completes = contribution == Contribution::final_one && progress.microbatches == options_.microbatches;
  TensorView into = store_.unit(index).gradient;
  if (shards_ == 1) {
    if (!writes_in_place() && first) context_.ops.copy(into, target.whole_);
    if (!writes_in_place() && !first) context_.ops.add(into, into, target.whole_);
    target.buffer_.reset();
    if (completes) complete(index);
    return;
  }
  const auto& layout = store_.unit(index).layout;
  Reduction reduction{.unit = index, .completes = completes};
  reduction.whole = whole_in_type(std::move(target.buffer_), layout);
  if (!first) {
    reduction.shard =
        Tensor(context_.memory, {layout.name + ".gradient_reduced", MemoryScope::gathered, into.dtype, into.shape});
    into = reduction.shard;
  }
  reduction.pending = context_.collectives.reduce_scatter("U -> U/fsdp", into, reduction.whole, Lane::background);
  reductions_.push_back(std::move(reduction));
  ++submitted_;
  // Settles the reductions that have run beside the computation of these gradients: from here on they would only hold
  // memory.
  settle_until(options_.overlap == ReductionOverlap::next_unit ? target.opened_after_ : submitted_);
}

Tensor UnitGatherer::whole_in_type(Tensor&& gradient, const UnitLayout& layout) const {
  Tensor computed = std::move(gradient);
  if (store_.gradient_type() == DType::f32) return computed;
  Tensor rounded(context_.memory, {layout.name + ".gradient_rounded", MemoryScope::gathered, store_.gradient_type(),
                                   Shape{layout.elements}});
  context_.ops.copy(rounded, computed);
  return rounded;
}

void UnitGatherer::settle_until(std::int64_t number) {
  const std::int64_t settled = submitted_ - static_cast<std::int64_t>(reductions_.size());
  for (std::int64_t i = settled; i < number; ++i) settle_oldest();
}

void UnitGatherer::settle_oldest() {
  Reduction reduction = std::move(reductions_.front());
  reductions_.pop_front();
  {
    PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
    reduction.pending.wait();
  }
  const TensorView gradient = store_.unit(reduction.unit).gradient;
  if (reduction.shard.defined()) context_.ops.add(gradient, gradient, reduction.shard);
  if (reduction.completes) complete(reduction.unit);
}

void UnitGatherer::complete(std::size_t index) {
  if (!use_gradient_) return reduce_over_replicas(index);
  use_gradient_(index);
  store_.drop_gradient(index);
}

void UnitGatherer::reduce_over_replicas(std::size_t index) {
  const auto& unit = store_.unit(index);
  const std::int64_t shard_first = store_.first_element(unit.layout);
  for (const auto& range : unit.layout.replica_ranges(shard_first, unit.layout.shard_elements)) {
    const AxisSet axes = range.replicas.with(Axis::dp);
    if (context_.collectives.mesh().size(axes) == 1) continue;
    const std::int64_t most = elements_of_all_reduce(axes);
    for (std::int64_t done = 0; done < range.count; done += most) {
      const TensorView gradient =
          unit.gradient.view().slice(range.first - shard_first + done, Shape{std::min(most, range.count - done)});
      replica_reductions_.push_back(context_.collectives.all_reduce(axes, gradient, Lane::background));
    }
  }
}

// A size that the ranks of a node can divide among them so that each part begins on a cache line.
std::int64_t UnitGatherer::elements_of_all_reduce(AxisSet axes) const {
  if (options_.all_reduce_bytes == 0) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t width = size_bytes(store_.gradient_type());
  const std::int64_t step = 64 / width * context_.collectives.mesh().size(axes);
  return std::max(step, options_.all_reduce_bytes / width / step * step);
}

void UnitGatherer::finish_gradients() {
  settle_until(submitted_);
  PhaseClock::Scope scope(context_.clock, Phase::exposed_comm);
  for (auto& pending : replica_reductions_) pending.wait();
  replica_reductions_.clear();
  if (store_.other_embedding() && store_.unit(store_.embedding()).layout.trains) add_other_embedding();
}

// A sum of two numbers has only one order, so both ends get equal bits.
void UnitGatherer::add_other_embedding() {
  const auto& unit = store_.unit(store_.embedding());
  const Heading there = *store_.other_embedding();
  const Tensor other(context_.memory, {unit.layout.name + ".gradient_of_other_stage", MemoryScope::gathered,
                                       store_.gradient_type(), unit.gradient.view().shape});
  auto received = context_.collectives.receive(Axis::pp, opposite(there), other);
  context_.collectives.send(Axis::pp, there, unit.gradient).wait();
  received.wait();
  context_.ops.add(unit.gradient, unit.gradient, other);
}

}  // namespace perfbench::engine
