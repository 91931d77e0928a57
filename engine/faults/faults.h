// Faults put into a run on purpose, by which perfbench proves that it finds what it claims to find. perfbench-engine
// has none (no_faults.cpp) and refuses them; perfbench-engine-inject is the same engine with faults.cpp. They are
// arguments, `run --dir DIR --inject FAULT`, so that attempt.json holds them.
//
// slow:span=NAME[,fraction=F][,us=N]
//     Every span of that name (trace_record.h: an operation, a collective, a phase or `step`), or every span of an
//     operation for `ops`, takes longer: by F of its own time at its end, N microseconds at its beginning. Time that is
//     spent inside of a span counts to it, and to the phase it is in; a phase and a step take `us` alone.
// startup:ms=N          the first step begins N milliseconds later
// allocate:mib=N        a tensor that nobody needs, N MiB, from before the first step on
// out_of_memory:loss=N  the Nth block of losses finds no memory: on ranks that compute them, as a pipeline's last stage
// wrong_gradient        the gradient of the loss has the wrong sign
// wrong_score           in an evaluation every target is missed, and what was likelier is less likely
// crowded_expert        the first choice of every token is the first expert
//
// And what is no fault, for `perfbench nightly --history-from simulated` alone:
//
// work_clock[:noise=F]  All times of the run are read from a clock that its own work turns (work_clock.h), also what
//                       the faults above add to them. F (0.01): how far the clocks of two runs differ.
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
  // Null: the machine's own. Asked for before begin, and lives as long as the faults.
  virtual RunClock* clock() = 0;
  // Once, before the first step and while the run starts up. What is returned is to live as long as the run; `ops` are
  // those that it computes with.
  virtual Tensor begin(Memory& memory, const Ops& ops) = 0;
  // The operations that a faulty run computes with; null: the backend's own.
  virtual std::unique_ptr<Ops> make_ops() const = 0;
};

// Null without any. Throws BadInput for a fault that is not known, or that this engine or the run's device cannot have.
std::unique_ptr<Faults> make_faults(const std::vector<std::string>& wanted, spec::Device device);

}  // namespace perfbench::engine
