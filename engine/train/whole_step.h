// Shared by steps that train and steps that evaluate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/core/error.h"
#include "engine/sharding/context.h"
#include "workloads/spec/expert_rows.h"
#include "workloads/spec/run_spec.h"
#include "workloads/spec/step_record.h"

namespace perfbench::engine {

// Each rank has the loss of its sequences and the count of their targets; in a pipeline the last stage has them, and
// the others add zero. Sums over experts come from the layers of each stage.
inline constexpr AxisSet kLossAxes = kDataAxes.with(Axis::pp);

inline void sum_over_ranks(const Context& context, TensorView sums, Phase phase) {
  if (context.collectives.mesh().size(kLossAxes) == 1) return;
  PhaseClock::Scope scope(context.clock, phase);
  context.collectives.all_reduce(kLossAxes, sums, Lane::in_line).wait();
}

// For a model with experts: the loss, and the members of ExpertTotals.
inline constexpr std::int64_t kSums = 4;

// `sum` is over all sequences and layers.
inline double mean_expert_load(const spec::RunSpec& run, double sum) {
  const std::int64_t layers = std::max<std::int64_t>(spec::expert_layers(run.model), 1);
  return sum / static_cast<double>(run.global_batch * layers);
}

inline void require_none_dropped(const spec::RunSpec& run, std::int64_t dropped_choices) {
  if (!spec::drops_none(run.model.moe) || dropped_choices == 0) return;
  throw EngineError(EngineExit::failed,
                    "experts: " + std::to_string(dropped_choices) +
                        " choices of a step found no row, and the model drops none (capacity_factor 0); a rank has " +
                        std::to_string(spec::expert_rows(run)) +
                        " rows for the experts of each rank along ep: use a larger expert_buffer_factor");
}

// The record of the step after which the clock was stopped: where its time went, and the memory so far.
inline spec::StepRecord timed_step(const Context& context, std::int64_t step) {
  const PhaseClock& clock = context.clock;
  return {.rank = context.collectives.mesh().rank(),
          .step = step,
          .wall_ns = clock.wall_ns(),
          .data_ns = clock.phase_ns(Phase::data),
          .forward_ns = clock.phase_ns(Phase::forward),
          .backward_ns = clock.phase_ns(Phase::backward),
          .exposed_comm_ns = clock.phase_ns(Phase::exposed_comm),
          .optimizer_ns = clock.phase_ns(Phase::optimizer),
          .other_ns = clock.phase_ns(Phase::other),
          .peak = context.memory.ledger().peaks(),
          .bubble_ns = clock.phase_ns(Phase::bubble)};
}

}  // namespace perfbench::engine
