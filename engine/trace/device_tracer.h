// What a device did during traced steps: kernels, copies, memsets and collectives, each with the span of the engine
// that submitted it. cupti_tracer.cpp, or no_cupti.cpp in a build without CUPTI.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

class DeviceTracer {
 public:
  virtual ~DeviceTracer() = default;
  virtual void begin_step() = 0;
  // Spans of the schedule that submit device work: operations, and collectives that are handed over, with the phase
  // they are in. They nest.
  virtual void begin_span(const TraceSpan& span, std::string_view phase) = 0;
  virtual void end_span() = 0;
  // When the device has nothing left to do: what it did since begin_step, as events of `rank` and `step`.
  virtual std::vector<spec::TraceEvent> end_step(std::int64_t rank, std::int64_t step) = 0;
  // Between the two, the tracer learns by the spans what the operations are that are recorded to be replayed later (in
  // CUDA graphs): what later steps replay has their names. False: something else keeps it from learning that, and only
  // what is executed one by one can be told apart.
  virtual bool begin_naming() = 0;
  virtual void end_naming() = 0;
  // Of all steps.
  virtual std::int64_t buffers() const = 0;
  virtual std::int64_t dropped_records() const = 0;
};

// One at a time: CUPTI serves a process once. Null in a build without it.
std::unique_ptr<DeviceTracer> make_device_tracer();
// "API 130001", or "absent".
std::string cupti_version();

}  // namespace perfbench::engine
