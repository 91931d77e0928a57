#include "engine/metrics/phase_clock.h"

namespace perfbench::engine {

void PhaseClock::start() {
  elapsed_ = {};
  current_ = Phase::other;
  started_at_ = now_();
  stopped_at_ = started_at_;
  since_ = started_at_;
  if (trace_ != nullptr) trace_->begin(TraceLane::schedule, {.kind = spec::TraceKind::step, .name = "step"}, since_);
}

void PhaseClock::stop() {
  change(Phase::other);
  stopped_at_ = since_;
  if (trace_ != nullptr) trace_->end(TraceLane::schedule, since_);
}

Phase PhaseClock::enter(Phase phase) {
  const Phase outer = change(phase);
  if (trace_ != nullptr) {
    trace_->begin(TraceLane::schedule, {.kind = spec::TraceKind::phase, .name = spec::enum_name(phase)}, since_);
  }
  return outer;
}

void PhaseClock::leave(Phase outer) {
  change(outer);
  if (trace_ != nullptr) trace_->end(TraceLane::schedule, since_);
}

Phase PhaseClock::change(Phase phase) {
  const std::int64_t now = now_();
  elapsed_[static_cast<std::size_t>(current_)] += now - since_;
  since_ = now;
  const Phase previous = current_;
  current_ = phase;
  return previous;
}

}  // namespace perfbench::engine
