// Traces what a device did during traced steps: kernels, copies, memsets and collectives, each with the span of the
// engine that submitted it. Implemented in cupti_tracer.cpp, or in no_cupti.cpp in a build without CUPTI.
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
  // Spans of the schedule that submit device work: operations, and submitted collectives, with the phase they are in.
  // Spans nest.
  virtual void begin_span(const TraceSpan& span, std::string_view phase) = 0;
  virtual void end_span() = 0;
  // Call it when the device has finished its work: returns that work since begin_step as events of `rank` and `step`.
  virtual std::vector<spec::TraceEvent> end_step(std::int64_t rank, std::int64_t step) = 0;
  // Between these two calls the tracer learns, from the spans, which operations are being recorded for later replay (in
  // CUDA graphs), so that replays in later steps have their names. Returns false if another tool prevents this; then
  // only operations executed one by one can be told apart.
  virtual bool begin_naming() = 0;
  virtual void end_naming() = 0;
  // Buffers used in all steps.
  virtual std::int64_t buffers() const = 0;
  virtual std::int64_t dropped_records() const = 0;
};

// One at a time, because CUPTI serves a process once. Null in a build without CUPTI.
std::unique_ptr<DeviceTracer> make_device_tracer();
// Such as "API 130001", or "absent".
std::string cupti_version();

}  // namespace perfbench::engine
