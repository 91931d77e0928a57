#include "engine/faults/work_clock.h"

#include <cmath>

namespace perfbench::engine {
namespace {

// About two cores of a server: a speed that readers of the demonstration may have seen before.
constexpr double kFlopsPerNs = 250;
constexpr double kBytesPerNs = 10;
constexpr double kOperationNs = 20e3;  // of every operation, including those that count no FLOPs
constexpr double kStartupNs = 50e6;
constexpr double kProbeNs = 2e6;  // of an undisturbed machine
constexpr std::int64_t kNoWork = -1;

bool is_work(spec::TraceKind kind) {
  using Kind = spec::TraceKind;
  return kind == Kind::op || kind == Kind::copy || kind == Kind::memset || kind == Kind::submit;
}

}  // namespace

std::int64_t WorkClock::wait_until(std::int64_t at_ns) {
  if (at_ns > now_ns_) now_ns_ = at_ns;
  return now_ns_;
}

std::int64_t WorkClock::startup_ns() {
  return std::llround(pace_ * kStartupNs) + now_ns_;  // includes what a fault added before the first step
}

std::int64_t WorkClock::probe_ns() {
  return std::llround(kProbeNs);
}

void WorkClock::begin(TraceLane lane, const TraceSpan& span, std::int64_t) {
  if (lane == TraceLane::schedule) open_.push_back(is_work(span.kind) ? span.bytes : kNoWork);
  if (inner_ != nullptr) inner_->begin(lane, span, now_ns_);
}

void WorkClock::end(TraceLane lane, std::int64_t) {
  // A sink that is set while a span is open sees only its end.
  if (lane == TraceLane::schedule && !open_.empty()) {
    const auto bytes = open_.back();
    open_.pop_back();
    if (bytes != kNoWork) work(bytes);
  }
  if (inner_ != nullptr) inner_->end(lane, now_ns_);
}

void WorkClock::work(std::int64_t bytes) {
  const auto total = flops_ ? flops_() : 0;
  // a smaller total means that the count started again
  const auto flops = total < flops_before_ ? total : total - flops_before_;
  flops_before_ = total;
  const double ns = kOperationNs + static_cast<double>(flops) / kFlopsPerNs + static_cast<double>(bytes) / kBytesPerNs;
  now_ns_ += std::llround(pace_ * ns);
}

}  // namespace perfbench::engine
