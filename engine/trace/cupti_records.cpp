#include "engine/trace/cupti_records.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unordered_set>
#include <utility>

#include "engine/trace/nvtx_ranges.h"

namespace perfbench::engine {
namespace {

std::string demangled(const char* name) {
  if (name == nullptr) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? text.get() : name;
}

std::string call_name(CUpti_CallbackDomain domain, std::uint32_t callback) {
  const char* name = nullptr;
  if (cuptiGetCallbackName(domain, callback, &name) == CUPTI_SUCCESS && name != nullptr) return name;
  return (domain == CUPTI_CB_DOMAIN_DRIVER_API ? "driver call " : "runtime call ") + std::to_string(callback);
}

}  // namespace

std::uint64_t CuptiRecords::begin_span(const TraceSpan& span, std::string_view phase, std::int64_t at_ns) {
  open_.push_back(spans_.size());
  spans_.push_back({span.kind, std::string(span.name), std::string(span.axis), std::string(span.heading), span.bytes,
                    std::string(phase), at_ns});
  return open_.back();
}

void CuptiRecords::end_span(std::int64_t at_ns) {
  spans_[open_.back()].end_ns = at_ns;
  open_.pop_back();
}

void CuptiRecords::add_node(std::uint64_t node) {
  if (!open_.empty()) nodes_[node] = spans_[open_.back()];
}

void CuptiRecords::add_node_copy(std::uint64_t node, std::uint64_t original) {
  const auto known = nodes_.find(original);
  if (known == nodes_.end()) return;
  const Span span = known->second;
  nodes_[node] = span;
}

template <class Record>
void CuptiRecords::add_work(spec::TraceKind kind, const Record& record, const char* kernel_name, std::uint64_t bytes) {
  Work work{.node = record.graphNodeId};
  work.event.kind = kind;
  work.event.kernel_name = demangled(kernel_name);
  work.event.bytes = static_cast<std::int64_t>(bytes);
  work.event.start_ns = static_cast<std::int64_t>(record.start);
  work.event.end_ns = static_cast<std::int64_t>(record.end);
  work.event.device = record.deviceId;
  work.event.lane = record.streamId;
  work.event.correlation = record.correlationId;
  work_.push_back(std::move(work));
}

void CuptiRecords::add(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& k = *reinterpret_cast<const CuptiKernel*>(record);
      add_work(spec::TraceKind::kernel, k, k.name, 0);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& c = *reinterpret_cast<const CuptiCopy*>(record);
      add_work(spec::TraceKind::copy, c, nullptr, c.bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& m = *reinterpret_cast<const CuptiMemset*>(record);
      add_work(spec::TraceKind::memset, m, nullptr, m.bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto& a = *reinterpret_cast<const CUpti_ActivityAPI*>(record);
      const auto domain =
          a.kind == CUPTI_ACTIVITY_KIND_DRIVER ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
      calls_.push_back(
          {domain, a.cbid, a.correlationId, static_cast<std::int64_t>(a.start), static_cast<std::int64_t>(a.end)});
      break;
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& e = *reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
      if (e.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) span_of_[e.correlationId] = e.externalId;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MARKER:
      add_marker(*reinterpret_cast<const CuptiMarker*>(record));
      break;
    default:
      break;
  }
}

void CuptiRecords::add_marker(const CuptiMarker& marker) {
  const auto at_ns = static_cast<std::int64_t>(marker.timestamp);
  if ((marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0) {
    ranges_[marker.id].end_ns = at_ns;
  } else if ((marker.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0) {
    const std::string domain = marker.domain != nullptr ? marker.domain : "";
    if (domain == kNvtxDomain) return;  // its end will find no start
    Range& range = ranges_[marker.id];
    range.name = (domain.empty() ? "" : domain + ": ") + (marker.name != nullptr ? marker.name : "unnamed");
    range.thread = marker.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? marker.objectId.pt.threadId : 0;
    range.start_ns = at_ns;
  }
}

// The calls that started work on a device. A driver call within a runtime call may have the same correlation.
CuptiRecords::CallOf CuptiRecords::calls_of_work() const {
  std::unordered_set<std::uint32_t> started;
  for (const auto& work : work_) started.insert(static_cast<std::uint32_t>(work.event.correlation));
  CallOf calls;
  for (const auto& call : calls_) {
    if (!started.contains(call.correlation)) continue;
    const Call*& known = calls[call.correlation];
    if (known == nullptr || call.domain == CUPTI_CB_DOMAIN_RUNTIME_API) known = &call;
  }
  return calls;
}

// For work of a replayed graph: the span that recorded it; for other work: the span that submitted it. External ids
// belong to the thread that begins the spans. Launches by NCCL's own threads have none, but they happen while the
// engine submits a collective, which waits for them.
const CuptiRecords::Span* CuptiRecords::span_of(const Work& work, const CallOf& calls) const {
  if (work.node != 0) {
    const auto known = nodes_.find(work.node);
    return known == nodes_.end() ? nullptr : &known->second;
  }
  const auto correlation = static_cast<std::uint32_t>(work.event.correlation);
  if (const auto id = span_of_.find(correlation); id != span_of_.end()) {
    return id->second < spans_.size() ? &spans_[id->second] : nullptr;
  }
  const auto call = calls.find(correlation);
  return call == calls.end() ? nullptr : handed_over_at(call->second->start_ns);
}

// Submitting spans do not nest in each other, so only the last one that had begun by then can have been open.
const CuptiRecords::Span* CuptiRecords::handed_over_at(std::int64_t at_ns) const {
  auto after = std::upper_bound(spans_.begin(), spans_.end(), at_ns,
                                [](std::int64_t at, const Span& span) { return at < span.start_ns; });
  while (after != spans_.begin()) {
    const Span& span = *--after;
    if (span.kind == spec::TraceKind::submit) return at_ns <= span.end_ns ? &span : nullptr;
  }
  return nullptr;
}

// A collective's kernel is the collective itself: its span only covers the submission.
void CuptiRecords::name_by(const Span& span, spec::TraceEvent& event) {
  event.name = span.name;
  if (span.kind != spec::TraceKind::submit || event.kind != spec::TraceKind::kernel) return;
  event.kind = spec::TraceKind::collective;
  event.axis = span.axis;
  event.heading = span.heading;
  event.bytes = span.bytes;
}

void CuptiRecords::take_calls(const CallOf& calls, std::vector<spec::TraceEvent>& events) {
  for (const auto& [correlation, call] : calls) {
    spec::TraceEvent event;
    event.kind = spec::TraceKind::host_call;
    event.name = call_name(call->domain, call->callback);
    event.start_ns = call->start_ns;
    event.end_ns = call->end_ns;
    event.lane = static_cast<std::int64_t>(TraceLane::schedule);
    event.correlation = correlation;
    events.push_back(std::move(event));
  }
}

// Leaves out a range of which the step holds only one end.
void CuptiRecords::take_markers(std::vector<spec::TraceEvent>& events) {
  constexpr auto kFirstLane = static_cast<std::int64_t>(TraceLane::communication) + 1;
  for (const auto& [id, range] : ranges_) {
    if (range.name.empty() || range.end_ns < range.start_ns) continue;
    const auto lane = lanes_.try_emplace(range.thread, kFirstLane + static_cast<std::int64_t>(lanes_.size()));
    spec::TraceEvent event;
    event.kind = spec::TraceKind::marker;
    event.name = range.name;
    event.start_ns = range.start_ns;
    event.end_ns = range.end_ns;
    event.lane = lane.first->second;
    events.push_back(std::move(event));
  }
  ranges_.clear();
}

std::vector<spec::TraceEvent> CuptiRecords::take(std::int64_t rank, std::int64_t step) {
  std::vector<spec::TraceEvent> events;
  const CallOf calls = calls_of_work();
  for (const auto& work : work_) {
    events.push_back(work.event);
    const Span* span = span_of(work, calls);
    if (span == nullptr) continue;
    name_by(*span, events.back());
    if (work.node != 0) events.back().phase = span->phase;
  }
  take_calls(calls, events);
  take_markers(events);
  for (auto& event : events) {
    event.rank = rank;
    event.step = step;
  }
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  work_.clear();
  calls_.clear();
  span_of_.clear();
  spans_.clear();
  open_.clear();
  return events;
}

}  // namespace perfbench::engine
