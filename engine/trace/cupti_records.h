// Turns CUPTI's activity records into trace events. Needs no device: the caller passes in the records one by one.
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
  // A span of the engine, on the clock of the records. Returns the external id of what its thread submits in it. Spans
  // nest.
  std::uint64_t begin_span(const TraceSpan& span, std::string_view phase, std::int64_t at_ns);
  void end_span(std::int64_t at_ns);
  // Called when a node of a CUDA graph was made for work of the innermost open span. Without an open span the node is a
  // copy of another graph's node: an executable graph holds copies of the recorded nodes. Work that the node runs in
  // later steps is named after that span.
  void add_node(std::uint64_t node);
  void add_node_copy(std::uint64_t node, std::uint64_t original);
  // Adds a record of any kind, in any order. Kinds that a trace does not hold are skipped. So are NVTX ranges of the
  // engine's own domain, because the engine records these spans itself.
  void add(const CUpti_Activity* record);
  // The events of what was added since the last call, by start. Leaves out calls that started no work on a device, and
  // driver calls within a runtime call.
  std::vector<spec::TraceEvent> take(std::int64_t rank, std::int64_t step);

 private:
  struct Span {
    spec::TraceKind kind;
    std::string name;
    std::string axis;
    std::string heading;
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
  // A range made of a start and an end, which may come in any order.
  struct Range {
    std::string name;  // empty until the start is known
    std::uint32_t thread = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = -1;
  };
  // The common fields of all records of device work.
  struct Work {
    spec::TraceEvent event;
    std::uint64_t node;  // node of a CUDA graph; 0 if not in a graph
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
  std::vector<std::size_t> open_;                             // indices in spans_
  std::unordered_map<std::uint64_t, Span> nodes_;             // by the node's id
  std::unordered_map<std::uint32_t, std::uint64_t> span_of_;  // correlation -> external id
  std::vector<Work> work_;
  std::vector<Call> calls_;
  std::unordered_map<std::uint32_t, Range> ranges_;  // by the marker's id
  std::map<std::uint32_t, std::int64_t> lanes_;      // lanes of the threads that markers came from
};

}  // namespace perfbench::engine
