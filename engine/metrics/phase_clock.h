// Divides a step's wall time into phases. Entering a phase pauses the one around it, so no nanosecond counts twice and
// the parts, with `other`, sum to the wall time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/core/monotonic_clock.h"
#include "engine/trace/trace_sink.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::engine {

using Phase = spec::TracePhase;
inline constexpr std::size_t kPhases = spec::EnumNames<Phase>::kNames.size();

class PhaseClock {
 public:
  using Now = std::int64_t (*)();
  explicit PhaseClock(Now now = monotonic_ns) : now_(now) {}

  // Starts a step: all phases at zero, `other` running.
  void start();
  // Ends the step.
  void stop();
  std::int64_t phase_ns(Phase phase) const { return elapsed_[static_cast<std::size_t>(phase)]; }
  std::int64_t wall_ns() const { return stopped_at_ - started_at_; }

  // From the next start on, the step and its phases are also spans of `sink`, at the same times to the nanosecond.
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
  TraceSink* trace_ = nullptr;
  std::array<std::int64_t, kPhases> elapsed_{};
  Phase current_ = Phase::other;
  std::int64_t since_ = 0;
  std::int64_t started_at_ = 0;
  std::int64_t stopped_at_ = 0;
};

}  // namespace perfbench::engine
