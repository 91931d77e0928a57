#include "engine/faults/slow_spans.h"

namespace perfbench::engine {
namespace {

bool is_operation(spec::TraceKind kind) {
  return kind == spec::TraceKind::op || kind == spec::TraceKind::copy || kind == spec::TraceKind::memset;
}

// A recorder may take `at_ns` from a clock that divides the step into phases, so its end is not moved.
bool ends_by_clock(spec::TraceKind kind) {
  return kind == spec::TraceKind::phase || kind == spec::TraceKind::step;
}

bool fits(const SlowSpan& slow, const TraceSpan& span) {
  return slow.name == span.name || (slow.name == "ops" && is_operation(span.kind));
}

}  // namespace

void SlowSpans::begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) {
  if (inner_ != nullptr) inner_->begin(lane, span, at_ns);
  Open open{.start_ns = at_ns};
  std::int64_t delay_ns = 0;
  // A `submit` span has the name of the collective that it hands over.
  if (span.kind != spec::TraceKind::submit) {
    for (const auto& slow : slow_) {
      if (!fits(slow, span)) continue;
      delay_ns += slow.delay_ns;
      if (!ends_by_clock(span.kind)) open.fraction += slow.fraction;
    }
  }
  lanes_[static_cast<std::size_t>(lane)].open.push_back(open);
  if (delay_ns > 0) clock_.wait_until(clock_.now() + delay_ns);
}

void SlowSpans::end(TraceLane lane, std::int64_t at_ns) {
  auto& open = lanes_[static_cast<std::size_t>(lane)].open;
  // A sink that is set while a span is open sees only its end.
  if (!open.empty()) {
    const auto span = open.back();
    open.pop_back();
    if (span.fraction > 0) {
      const auto longer = static_cast<std::int64_t>(span.fraction * static_cast<double>(at_ns - span.start_ns));
      at_ns = clock_.wait_until(at_ns + longer);
    }
  }
  if (inner_ != nullptr) inner_->end(lane, at_ns);
}

}  // namespace perfbench::engine
