// A sink that records the host's spans and tells the device's tracer which of them submit work.
#pragma once

#include <string_view>
#include <vector>

#include "engine/trace/device_tracer.h"
#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

class DeviceSpans : public TraceSink {
 public:
  // Owns neither `host` nor `device`.
  DeviceSpans(TraceSink& host, DeviceTracer& device) : host_(host), device_(device) {}

  void begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) override {
    host_.begin(lane, span, at_ns);
    if (lane != TraceLane::schedule) return;
    open_.push_back({submits(span.kind), open_.empty() ? std::string_view() : open_.back().phase});
    if (span.kind == spec::TraceKind::phase) open_.back().phase = span.name;
    if (open_.back().told) device_.begin_span(span, open_.back().phase);
  }
  void end(TraceLane lane, std::int64_t at_ns) override {
    host_.end(lane, at_ns);
    if (lane != TraceLane::schedule) return;
    if (open_.back().told) device_.end_span();
    open_.pop_back();
  }

 private:
  struct Open {
    bool told;
    std::string_view phase;  // the innermost open phase
  };
  static bool submits(spec::TraceKind kind) {
    using spec::TraceKind;
    return kind == TraceKind::op || kind == TraceKind::copy || kind == TraceKind::memset || kind == TraceKind::submit;
  }

  TraceSink& host_;
  DeviceTracer& device_;
  std::vector<Open> open_;  // open spans of the schedule lane
};

}  // namespace perfbench::engine
