// Faults injected into a run on purpose, with which perfbench proves that it finds what it claims to find.
// perfbench-engine contains none (no_faults.cpp) and refuses them; perfbench-engine-inject is the same engine with
// faults.cpp. Faults are arguments, `run --dir DIR --inject FAULT`, so that attempt.json records them.
//
// slow:span=NAME[,fraction=F][,us=N]
//     Every span of that name (trace_record.h: an operation, a collective, a phase or `step`), or every span of an
//     operation for `ops`, takes longer: F of its own time is added at its end, N microseconds at its beginning. Time
//     spent inside a span counts towards it and towards the phase around it. A phase and a step accept `us` only.
//
// startup:ms=N
//     The first step begins N milliseconds later.
//
// allocate:mib=N
//     Allocates an unused tensor of N MiB before the first step.
//
// out_of_memory:loss=N
//     The Nth block of losses finds no memory, on the ranks that compute losses (a pipeline's last stage).
//
// wrong_gradient
//     The gradient of the loss has the wrong sign.
//
// wrong_score
//     In an evaluation no target is predicted, and likely targets become less likely.
//
// crowded_expert
//     The first choice of every token is the first expert.
//
// One more is not a fault. It is only for `perfbench nightly --history-from simulated`:
//
// work_clock[:noise=F]
//     All times of the run are read from a clock that its own work turns (work_clock.h), including the delays of the
//     faults above. F (0.01): how far the clocks of two runs differ.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/tensor.h"
#include "engine/faults/run_clock.h"
#include "engine/ops/ops.h"
#include "engine/trace/trace_sink.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::engine {

class Faults : public SinkFilter {
 public:
  // Null: the machine's clock. Asked for before begin; the clock lives as long as the faults.
  virtual RunClock* clock() = 0;
  // Called once, during start-up, before the first step. The returned tensor must live as long as the run; `ops` are
  // the operations that it computes with.
  virtual Tensor begin(Memory& memory, const Ops& ops) = 0;
  // The operations that a faulty run computes with. Null: the backend's operations.
  virtual std::unique_ptr<Ops> make_ops() const = 0;
};

// Returns null if no fault is wanted. Throws BadInput for a fault that is unknown, or that this engine or the run's
// device does not support.
std::unique_ptr<Faults> make_faults(const std::vector<std::string>& wanted, spec::Device device);

}  // namespace perfbench::engine
