// The spans that the engine reports about itself while it is traced. Ops, PhaseClock, Collectives and the layers hold a
// pointer to a sink. It is null unless a step is traced or shown as NVTX ranges, so tracing costs one branch when it is
// off.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/core/monotonic_clock.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::engine {

// The lanes of the host (TraceEvent::lane). Each is used by one thread at a time.
enum class TraceLane : std::int64_t { schedule = 0, communication = 1 };

struct TraceSpan {
  spec::TraceKind kind = spec::TraceKind::op;
  std::string_view name;  // must stay valid until the sink's records have been taken
  std::string_view axis = {};
  std::int64_t correlation = 0;
  std::int64_t bytes = 0;
  std::string_view heading = {};  // of a message, as in TraceEvent
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // Spans of one lane nest: end closes the one that was opened last. `at_ns` is a reading of monotonic_ns().
  virtual void begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) = 0;
  virtual void end(TraceLane lane, std::int64_t at_ns) = 0;
};

// Stands between the producers of spans and the requested sink.
class SinkFilter {
 public:
  virtual ~SinkFilter() = default;
  // The sink that gets the spans in place of `sink`, which may be null. The result may then be null too, or a sink that
  // wants the spans for itself.
  virtual TraceSink* around(TraceSink* sink) = 0;
};

// A span for the life of the object; does nothing without a sink.
class ScopedSpan {
 public:
  ScopedSpan(TraceSink* sink, TraceLane lane, const TraceSpan& span) : sink_(sink), lane_(lane) {
    if (sink_ != nullptr) sink_->begin(lane_, span, monotonic_ns());
  }
  ~ScopedSpan() {
    if (sink_ != nullptr) sink_->end(lane_, monotonic_ns());
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  TraceSink* sink_;
  TraceLane lane_;
};

// A part of the model, as a span on the schedule lane.
class RangeSpan : public ScopedSpan {
 public:
  RangeSpan(TraceSink* sink, std::string_view name)
      : ScopedSpan(sink, TraceLane::schedule, {.kind = spec::TraceKind::range, .name = name}) {}
};

// An operation, as a span on the schedule lane. `bytes` are the bytes moved, 0 for computation.
class OpSpan : public ScopedSpan {
 public:
  OpSpan(TraceSink* sink, spec::TraceOp op, std::int64_t bytes = 0)
      : ScopedSpan(sink, TraceLane::schedule,
                   {.kind = spec::trace_kind(op), .name = spec::enum_name(op), .bytes = bytes}) {}
};

}  // namespace perfbench::engine
