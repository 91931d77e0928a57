// What the engine tells of itself while it is traced: spans that begin and end. Ops, PhaseClock, Collectives and the
// layers hold a pointer to a sink that is null unless a step is traced or shown as NVTX ranges: off costs one branch.
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
  std::string_view name;  // stays valid until the sink's records were taken
  std::string_view axis = {};
  std::int64_t correlation = 0;
  std::int64_t bytes = 0;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // Spans of one lane nest: end closes the one that was opened last. `at_ns` is a reading of monotonic_ns().
  virtual void begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) = 0;
  virtual void end(TraceLane lane, std::int64_t at_ns) = 0;
};

// Stands between what makes spans and the sink that is asked for.
class SinkFilter {
 public:
  virtual ~SinkFilter() = default;
  // What gets the spans, for `sink`, which may be null: then it may be null too, or what wants spans for itself.
  virtual TraceSink* around(TraceSink* sink) = 0;
};

// A span for the life of the object; nothing without a sink.
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

// A part of the model, on the lane of the schedule.
class RangeSpan : public ScopedSpan {
 public:
  RangeSpan(TraceSink* sink, std::string_view name)
      : ScopedSpan(sink, TraceLane::schedule, {.kind = spec::TraceKind::range, .name = name}) {}
};

// An operation, on the lane of the schedule. `bytes` of what is moved, 0 for computation.
class OpSpan : public ScopedSpan {
 public:
  OpSpan(TraceSink* sink, spec::TraceOp op, std::int64_t bytes = 0)
      : ScopedSpan(sink, TraceLane::schedule,
                   {.kind = spec::trace_kind(op), .name = spec::enum_name(op), .bytes = bytes}) {}
};

}  // namespace perfbench::engine
