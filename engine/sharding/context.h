// The objects that every part of the model works with.
#pragma once

#include "engine/core/dtype.h"
#include "engine/core/intermediate_log.h"
#include "engine/core/memory.h"
#include "engine/metrics/phase_clock.h"
#include "engine/ops/ops.h"
#include "engine/parallel/collectives.h"
#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

// How recordings of repeated work are used (recorded_work.h). traced: as `used`, with separate recordings.
enum class Recordings { used, traced, unused };

struct Context {
  Ops& ops;
  Memory& memory;
  Collectives& collectives;
  PhaseClock& clock;
  DType compute = DType::f32;    // type of weights and activations in products; master weights are f32
  TraceSink* trace = nullptr;    // set by set_trace
  SinkFilter* filter = nullptr;  // wraps the sink given to set_trace
  Recordings recordings = Recordings::used;
  IntermediateLog* intermediates = nullptr;  // null: no list of intermediates is wanted

  // All work done with this context becomes spans of `sink`, until it is set to null. Call it between steps.
  void set_trace(TraceSink* sink) {
    if (filter != nullptr) sink = filter->around(sink);
    trace = sink;
    ops.set_trace(sink);
    collectives.set_trace(sink);
    clock.set_trace(sink);
  }

  Tensor activation(std::string name, Shape shape) const {
    return Tensor(memory, {std::move(name), MemoryScope::activations, compute, shape});
  }
  Tensor activation_f32(std::string name, Shape shape) const {
    return Tensor(memory, {std::move(name), MemoryScope::activations, DType::f32, shape});
  }
  Tensor workspace(std::string name, Shape shape) const {
    return Tensor(memory, {std::move(name), MemoryScope::workspace, compute, shape});
  }
  Tensor workspace_f32(std::string name, Shape shape) const {
    return Tensor(memory, {std::move(name), MemoryScope::workspace, DType::f32, shape});
  }
};

}  // namespace perfbench::engine
