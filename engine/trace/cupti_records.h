// CUPTI's activity records as trace events. Needs no device: what CUPTI delivers is handed in record by record.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
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
  // A span of the engine, on the clock of the records; what its thread submits carries the number that is returned as
  // its external id. They nest.
  std::uint64_t begin_span(const TraceSpan& span, std::string_view phase, std::int64_t at_ns);
  void end_span(std::int64_t at_ns);
  // A node of a CUDA graph was made, of what the innermost open span submits; none open, or a copy of another graph's
  // node: an executable graph holds copies of those that were recorded. What a node runs later bears that span's name,
  // in all steps to come.
  void add_node(std::uint64_t node);
  void add_node_copy(std::uint64_t node, std::uint64_t original);
  // A record of any kind, in any order; kinds that a trace does not hold are passed over, as are NVTX ranges of the
  // engine's own domain, which are the spans that it records itself.
  void add(const CUpti_Activity* record);
  // The events of what was added since the last call, by start. Calls that started nothing on a device are left out, as
  // is a call of the driver within one of the runtime.
  std::vector<spec::TraceEvent> take(std::int64_t rank, std::int64_t step);

 private:
  struct Span {
    spec::TraceKind kind;
    std::string name;
    std::string axis;
    std::int64_t bytes;
    std::string phase;
    std::int64_t start_ns;
    std::int64_t end_ns = std::numeric_limits<std::int64_t>::max();
  };
  // Libraries (cuBLASLt, NCCL) call the driver; the engine's own kernels are launched by the runtime.
  struct Call {
    CUpti_CallbackDomain domain;
    std::uint32_t callback;
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
  // What the records of device work have in common.
  struct Work {
    spec::TraceEvent event;
    std::uint64_t node;  // of a CUDA graph; 0 for none
  };
  template <class Record>
  void add_work(spec::TraceKind kind, const Record& record, const char* kernel_name, std::uint64_t bytes);
  void add_marker(const CuptiMarker& marker);
  using CallOf = std::map<std::uint32_t, const Call*>;  // by correlation
  CallOf calls_of_work() const;
  const Span* span_of(const Work& work, const CallOf& calls) const;
  const Span* handed_over_at(std::int64_t at_ns) const;
  static void name_by(const Span& span, spec::TraceEvent& event);
  static void take_calls(const CallOf& calls, std::vector<spec::TraceEvent>& events);
  void take_markers(std::vector<spec::TraceEvent>& events);

  std::vector<Span> spans_;                                   // by start
  std::vector<std::size_t> open_;                             // of spans_
  std::unordered_map<std::uint64_t, Span> nodes_;             // by the node's id
  std::unordered_map<std::uint32_t, std::uint64_t> span_of_;  // correlation -> external id
  std::vector<Work> work_;
  std::vector<Call> calls_;
  std::unordered_map<std::uint32_t, Range> ranges_;  // by the marker's id
  std::map<std::uint32_t, std::int64_t> lanes_;      // of the threads that markers came from
};

}  // namespace perfbench::engine
