// Spans that take longer than their work. Everything the engine does is a span, so one place delays any of it; and
// because the delay ends before the span does, a trace shows it where it was put.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/faults/waiting_clock.h"
#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

struct SlowSpan {
  std::string name;           // of spans, or "ops" for every operation
  double fraction = 0;        // of the span's own time, added at its end
  std::int64_t delay_ns = 0;  // added at its beginning
};

class SlowSpans : public TraceSink {
 public:
  // `clock` outlives it.
  SlowSpans(std::vector<SlowSpan> slow, WaitingClock& clock) : slow_(std::move(slow)), clock_(clock) {}

  // Where spans go that are also traced; null for none.
  void set_inner(TraceSink* inner) { inner_ = inner; }

  void begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) override;
  void end(TraceLane lane, std::int64_t at_ns) override;

 private:
  struct Open {
    std::int64_t start_ns = 0;
    double fraction = 0;
  };
  // On cache lines of its own: the lanes are used by different threads.
  struct alignas(64) Lane {
    std::vector<Open> open;
  };

  std::vector<SlowSpan> slow_;
  WaitingClock& clock_;
  TraceSink* inner_ = nullptr;
  std::array<Lane, 2> lanes_;
};

}  // namespace perfbench::engine
