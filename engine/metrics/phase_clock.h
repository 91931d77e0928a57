// Divides a step's wall time into phases. Entering a phase pauses the one around it. So no nanosecond counts twice, and
// the phases, `other` included, add up to the wall time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/core/monotonic_clock.h"
#include "engine/core/timeline.h"
#include "engine/trace/trace_sink.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::engine {

using Phase = spec::TracePhase;
inline constexpr std::size_t kPhases = spec::EnumNames<Phase>::kNames.size();

class PhaseClock {
 public:
  using Now = std::function<std::int64_t()>;
  explicit PhaseClock(Now now = monotonic_ns) : now_(std::move(now)) {}
  // Takes the length of phases from the marks of `timeline`, for work that runs behind the host. It must outlive the
  // clock.
  explicit PhaseClock(Timeline* timeline) : now_(monotonic_ns), timeline_(timeline) {}

  // Starts a step: all phases are zero, and `other` runs.
  void start();
  // Ends the step.
  void stop();
  std::int64_t phase_ns(Phase phase) const { return elapsed_[static_cast<std::size_t>(phase)]; }
  std::int64_t wall_ns() const;

  // The phases entered and left since a moment of this step: replaying a recording repeats them.
  struct Segment {
    std::vector<Phase> phases;
  };
  std::size_t moment() const { return marked_.size(); }
  Segment since(std::size_t moment) const {
    return {{marked_.begin() + static_cast<std::ptrdiff_t>(moment), marked_.end()}};
  }
  void repeat(const Segment& segment);

  // From the next start on, the step and its phases are also spans of `sink`, timed by the host's clock. Without a
  // timeline they equal the times above to the nanosecond.
  void set_trace(TraceSink* sink) { trace_ = sink; }

  // Runs `phase` for the life of the object.
  class Scope {
   public:
    Scope(PhaseClock& clock, Phase phase) : clock_(clock), outer_(clock.enter(phase)) {}
    ~Scope() { clock_.leave(outer_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PhaseClock& clock_;
    Phase outer_;
  };

 private:
  Phase enter(Phase phase);
  void leave(Phase outer);
  Phase change(Phase phase);

  Now now_;
  Timeline* timeline_ = nullptr;
  std::vector<Phase> marked_;  // the phase that ended at each mark of the timeline
  TraceSink* trace_ = nullptr;
  std::array<std::int64_t, kPhases> elapsed_{};
  Phase current_ = Phase::other;
  std::int64_t since_ = 0;
};

}  // namespace perfbench::engine
