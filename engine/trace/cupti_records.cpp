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

std::uint64_t CuptiRecords::add_span(const TraceSpan& span) {
  spans_.push_back({span.kind, std::string(span.name), std::string(span.axis), span.bytes});
  return spans_.size() - 1;
}

void CuptiRecords::add_work(spec::TraceKind kind, const char* kernel_name, std::int64_t bytes, std::uint64_t start_ns,
                            std::uint64_t end_ns, std::uint32_t device, std::uint32_t stream,
                            std::uint32_t correlation) {
  spec::TraceEvent event;
  event.kind = kind;
  event.kernel_name = demangled(kernel_name);
  event.bytes = bytes;
  event.start_ns = static_cast<std::int64_t>(start_ns);
  event.end_ns = static_cast<std::int64_t>(end_ns);
  event.device = device;
  event.lane = stream;
  event.correlation = correlation;
  work_.push_back(std::move(event));
}

void CuptiRecords::add(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& k = *reinterpret_cast<const CuptiKernel*>(record);
      add_work(spec::TraceKind::kernel, k.name, 0, k.start, k.end, k.deviceId, k.streamId, k.correlationId);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& c = *reinterpret_cast<const CuptiCopy*>(record);
      add_work(spec::TraceKind::copy, nullptr, static_cast<std::int64_t>(c.bytes), c.start, c.end, c.deviceId,
               c.streamId, c.correlationId);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& m = *reinterpret_cast<const CuptiMemset*>(record);
      add_work(spec::TraceKind::memset, nullptr, static_cast<std::int64_t>(m.bytes), m.start, m.end, m.deviceId,
               m.streamId, m.correlationId);
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

// A collective's kernel is the collective itself: its span was only the handing over.
void CuptiRecords::name_by_span(spec::TraceEvent& event) const {
  const auto id = span_of_.find(static_cast<std::uint32_t>(event.correlation));
  if (id == span_of_.end() || id->second >= spans_.size()) return;
  const Span& span = spans_[id->second];
  event.name = span.name;
  if (span.kind != spec::TraceKind::submit || event.kind != spec::TraceKind::kernel) return;
  event.kind = spec::TraceKind::collective;
  event.axis = span.axis;
  event.bytes = span.bytes;
}

// A range of which the step holds one end only is left out.
void CuptiRecords::take_markers() {
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
    work_.push_back(std::move(event));
  }
  ranges_.clear();
}

std::vector<spec::TraceEvent> CuptiRecords::take(std::int64_t rank, std::int64_t step) {
  std::unordered_set<std::uint32_t> started;
  for (auto& event : work_) {
    started.insert(static_cast<std::uint32_t>(event.correlation));
    name_by_span(event);
  }
  for (const auto& call : calls_) {
    if (!started.contains(call.correlation)) continue;
    spec::TraceEvent event;
    event.kind = spec::TraceKind::host_call;
    event.name = call_name(call.callback);
    event.start_ns = call.start_ns;
    event.end_ns = call.end_ns;
    event.lane = static_cast<std::int64_t>(TraceLane::schedule);
    event.correlation = call.correlation;
    work_.push_back(std::move(event));
  }
  take_markers();
  for (auto& event : work_) {
    event.rank = rank;
    event.step = step;
  }
  std::stable_sort(work_.begin(), work_.end(), [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  calls_.clear();
  span_of_.clear();
  spans_.clear();
  return std::exchange(work_, {});
}

}  // namespace perfbench::engine
