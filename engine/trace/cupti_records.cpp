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

std::string call_name(std::uint32_t callback) {
  const char* name = nullptr;
  const CUptiResult code = cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, callback, &name);
  return code == CUPTI_SUCCESS && name != nullptr ? name : "runtime call " + std::to_string(callback);
}

}  // namespace

std::uint64_t CuptiRecords::begin_span(const TraceSpan& span, std::string_view phase) {
  open_.push_back(spans_.size());
  spans_.push_back({span.kind, std::string(span.name), std::string(span.axis), span.bytes, std::string(phase)});
  return open_.back();
}

void CuptiRecords::end_span() {
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
    case CUPTI_ACTIVITY_KIND_RUNTIME: {
      const auto& a = *reinterpret_cast<const CUpti_ActivityAPI*>(record);
      calls_.push_back(
          {a.cbid, a.threadId, a.correlationId, static_cast<std::int64_t>(a.start), static_cast<std::int64_t>(a.end)});
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
    if (domain == kNvtxDomain) return;  // its end finds no start
    Range& range = ranges_[marker.id];
    range.name = (domain.empty() ? "" : domain + ": ") + (marker.name != nullptr ? marker.name : "unnamed");
    range.thread = marker.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? marker.objectId.pt.threadId : 0;
    range.start_ns = at_ns;
  }
}

// Of a replayed graph's work, the span that recorded it; of other work, the one that submitted it.
const CuptiRecords::Span* CuptiRecords::span_of(const Work& work) const {
  if (work.node != 0) {
    const auto known = nodes_.find(work.node);
    return known == nodes_.end() ? nullptr : &known->second;
  }
  const auto id = span_of_.find(static_cast<std::uint32_t>(work.event.correlation));
  if (id == span_of_.end() || id->second >= spans_.size()) return nullptr;
  return &spans_[id->second];
}

// A collective's kernel is the collective itself: its span was only the handing over.
void CuptiRecords::name_by(const Span& span, spec::TraceEvent& event) {
  event.name = span.name;
  if (span.kind != spec::TraceKind::submit || event.kind != spec::TraceKind::kernel) return;
  event.kind = spec::TraceKind::collective;
  event.axis = span.axis;
  event.bytes = span.bytes;
}

void CuptiRecords::take_calls(std::vector<spec::TraceEvent>& events) const {
  std::unordered_set<std::uint32_t> started;
  for (const auto& work : work_) started.insert(static_cast<std::uint32_t>(work.event.correlation));
  for (const auto& call : calls_) {
    if (!started.contains(call.correlation)) continue;
    spec::TraceEvent event;
    event.kind = spec::TraceKind::host_call;
    event.name = call_name(call.callback);
    event.start_ns = call.start_ns;
    event.end_ns = call.end_ns;
    event.lane = static_cast<std::int64_t>(TraceLane::schedule);
    event.correlation = call.correlation;
    events.push_back(std::move(event));
  }
}

// A range of which the step holds one end only is left out.
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
  for (const auto& work : work_) {
    events.push_back(work.event);
    const Span* span = span_of(work);
    if (span == nullptr) continue;
    name_by(*span, events.back());
    if (work.node != 0) events.back().phase = span->phase;
  }
  take_calls(events);
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
