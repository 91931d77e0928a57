// Spans that take longer than their work. Everything the engine does is a span, so any part of it can be delayed from
// here. The delay ends before the span does, so a trace shows it where it was injected.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/faults/waiting_clock.h"
#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

struct SlowSpan {
  std::string name;           // name of the spans, or "ops" for every operation
  double fraction = 0;        // of the span's own time, added at its end
  std::int64_t delay_ns = 0;  // added at its beginning
};

class SlowSpans : public TraceSink {
 public:
  // `clock` must outlive it.
  SlowSpans(std::vector<SlowSpan> slow, WaitingClock& clock) : slow_(std::move(slow)), clock_(clock) {}

  // Where spans that are also traced go; null for no trace.
  void set_inner(TraceSink* inner) { inner_ = inner; }

  void begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) override;
  void end(TraceLane lane, std::int64_t at_ns) override;

 private:
  struct Open {
    std::int64_t start_ns = 0;
    double fraction = 0;
  };
  // A lane has its own cache lines, because different threads use the lanes.
  struct alignas(64) Lane {
    std::vector<Open> open;
  };

  std::vector<SlowSpan> slow_;
  WaitingClock& clock_;
  TraceSink* inner_ = nullptr;
  std::array<Lane, 2> lanes_;
};

}  // namespace perfbench::engine
