#include "engine/trace/trace_recorder.h"

#include <string>

namespace perfbench::engine {

TraceRecorder::TraceRecorder(const SpanCounts& capacity) {
  constexpr std::size_t kDeepest = 64;  // depth of nested spans
  for (std::size_t i = 0; i < kTraceLanes; ++i) {
    lanes_[i].capacity = capacity[i];
    // Written to once, so that the step causes no page faults.
    lanes_[i].records.resize(capacity[i]);
    lanes_[i].records.clear();
    lanes_[i].open.reserve(kDeepest);
  }
}

void TraceRecorder::begin(TraceLane which, const TraceSpan& span, std::int64_t at_ns) {
  Lane& to = lane(which);
  if (to.records.size() == to.capacity) {
    ++to.dropped;
    to.open.push_back(to.capacity);
    return;
  }
  to.open.push_back(to.records.size());
  to.records.push_back({.span = span, .start_ns = at_ns, .end_ns = at_ns});
}

void TraceRecorder::end(TraceLane which, std::int64_t at_ns) {
  Lane& to = lane(which);
  // A recorder that is set while a span is open sees only the end of that span.
  if (to.open.empty()) return;
  const std::size_t index = to.open.back();
  to.open.pop_back();
  if (index < to.capacity) to.records[index].end_ns = at_ns;
}

std::vector<spec::TraceEvent> TraceRecorder::take(std::int64_t rank, std::int64_t step) {
  std::vector<spec::TraceEvent> events;
  for (std::size_t i = 0; i < kTraceLanes; ++i) {
    buffers_ += lanes_[i].records.empty() ? 0 : 1;
    for (const auto& record : lanes_[i].records) {
      events.push_back({.rank = rank,
                        .step = step,
                        .kind = record.span.kind,
                        .name = std::string(record.span.name),
                        .axis = std::string(record.span.axis),
                        .start_ns = record.start_ns,
                        .end_ns = record.end_ns,
                        .lane = static_cast<std::int64_t>(i),
                        .correlation = record.span.correlation,
                        .bytes = record.span.bytes,
                        .heading = std::string(record.span.heading)});
    }
    lanes_[i].records.clear();
  }
  return events;
}

std::int64_t TraceRecorder::dropped() const {
  std::int64_t all = 0;
  for (const auto& each : lanes_) all += each.dropped;
  return all;
}

void SpanCounter::begin(TraceLane lane, const TraceSpan&, std::int64_t) {
  ++counts_[static_cast<std::size_t>(lane)];
}

}  // namespace perfbench::engine
