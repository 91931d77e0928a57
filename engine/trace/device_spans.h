// A sink that records the host's spans and tells the device's tracer which of them submit work.
#pragma once

#include <vector>

#include "engine/trace/device_tracer.h"
#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

class DeviceSpans : public TraceSink {
 public:
  // Neither owns `host` nor `device`.
  DeviceSpans(TraceSink& host, DeviceTracer& device) : host_(host), device_(device) {}

  void begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) override {
    host_.begin(lane, span, at_ns);
    if (lane != TraceLane::schedule) return;
    told_.push_back(submits(span.kind));
    if (told_.back()) device_.begin_span(span);
  }
  void end(TraceLane lane, std::int64_t at_ns) override {
    host_.end(lane, at_ns);
    if (lane != TraceLane::schedule) return;
    if (told_.back()) device_.end_span();
    told_.pop_back();
  }

 private:
  static bool submits(spec::TraceKind kind) {
    using spec::TraceKind;
    return kind == TraceKind::op || kind == TraceKind::copy || kind == TraceKind::memset || kind == TraceKind::submit;
  }

  TraceSink& host_;
  DeviceTracer& device_;
  std::vector<bool> told_;  // of each open span of the schedule
};

}  // namespace perfbench::engine
