#include "engine/metrics/phase_clock.h"

#include <chrono>

namespace perfbench::engine {

std::int64_t monotonic_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

void PhaseClock::start() {
  elapsed_ = {};
  current_ = Phase::other;
  started_at_ = now_();
  stopped_at_ = started_at_;
  since_ = started_at_;
}

void PhaseClock::stop() {
  change(Phase::other);
  stopped_at_ = since_;
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
