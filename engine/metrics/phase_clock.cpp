#include "engine/metrics/phase_clock.h"

#include <numeric>

namespace perfbench::engine {

void PhaseClock::start() {
  elapsed_ = {};
  current_ = Phase::other;
  since_ = now_();
  marked_.clear();
  if (timeline_ != nullptr) timeline_->start();
  if (trace_ != nullptr) trace_->begin(TraceLane::schedule, {.kind = spec::TraceKind::step, .name = "step"}, since_);
}

void PhaseClock::stop() {
  change(Phase::other);
  if (timeline_ != nullptr) {
    const auto gaps = timeline_->gaps_ns();
    for (std::size_t i = 0; i < gaps.size(); ++i) elapsed_[static_cast<std::size_t>(marked_[i])] += gaps[i];
  }
  // The gaps were waited for: work that ran behind the host belongs to the step.
  if (trace_ != nullptr) trace_->end(TraceLane::schedule, timeline_ != nullptr ? now_() : since_);
}

std::int64_t PhaseClock::wall_ns() const {
  return std::accumulate(elapsed_.begin(), elapsed_.end(), std::int64_t{0});
}

void PhaseClock::repeat(const Segment& segment) {
  if (timeline_ == nullptr) return;
  marked_.insert(marked_.end(), segment.phases.begin(), segment.phases.end());
  timeline_->skip(segment.phases.size());
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
  if (timeline_ != nullptr) {
    timeline_->mark();
    marked_.push_back(current_);
  } else {
    elapsed_[static_cast<std::size_t>(current_)] += now - since_;
  }
  since_ = now;
  const Phase previous = current_;
  current_ = phase;
  return previous;
}

}  // namespace perfbench::engine
