// CUPTI's activity records as trace events. Needs no device: what CUPTI delivers is handed in record by record.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

// The records' types grow at their end from one toolkit to the next.
#if CUPTI_API_VERSION >= 130000
using CuptiKernel = CUpti_ActivityKernel10;
using CuptiCopy = CUpti_ActivityMemcpy6;
#else
using CuptiKernel = CUpti_ActivityKernel9;
using CuptiCopy = CUpti_ActivityMemcpy5;
#endif
using CuptiMemset = CUpti_ActivityMemset4;
using CuptiMarker = CUpti_ActivityMarker2;

class CuptiRecords {
 public:
  // Remembers a span of the engine; what it submits carries the number that is returned as its external id.
  std::uint64_t add_span(const TraceSpan& span);
  // A record of any kind, in any order; kinds that a trace does not hold are passed over, as are NVTX ranges of the
  // engine's own domain, which are the spans that it records itself.
  void add(const CUpti_Activity* record);
  // The events of what was added since the last call, by start. Calls of the runtime that started nothing on a device
  // are left out.
  std::vector<spec::TraceEvent> take(std::int64_t rank, std::int64_t step);

 private:
  struct Span {
    spec::TraceKind kind;
    std::string name;
    std::string axis;
    std::int64_t bytes;
  };
  struct Call {
    std::uint32_t callback;
    std::uint32_t thread;
    std::uint32_t correlation;
    std::int64_t start_ns;
    std::int64_t end_ns;
  };
  // Of a start and an end, which may come in any order.
  struct Range {
    std::string name;  // empty until the start is known
    std::uint32_t thread = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = -1;
  };
  void add_work(spec::TraceKind kind, const char* kernel_name, std::int64_t bytes, std::uint64_t start_ns,
                std::uint64_t end_ns, std::uint32_t device, std::uint32_t stream, std::uint32_t correlation);
  void add_marker(const CuptiMarker& marker);
  void name_by_span(spec::TraceEvent& event) const;
  void take_markers();

  std::vector<Span> spans_;
  std::unordered_map<std::uint32_t, std::uint64_t> span_of_;  // correlation -> external id
  std::vector<spec::TraceEvent> work_;
  std::vector<Call> calls_;
  std::unordered_map<std::uint32_t, Range> ranges_;  // by the marker's id
  std::map<std::uint32_t, std::int64_t> lanes_;      // of the threads that markers came from
};

}  // namespace perfbench::engine
