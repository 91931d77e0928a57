// The trace of an engine's traced steps: trace.rank<R>.jsonl, one TraceEvent a line, in the order in which the events
// were recorded, then one TraceEnd. A file without that last line was cut off.
//
// Every rank has host lanes (device kHostDevice: lane 0 is the thread that runs the schedule, lane 1 the one that runs
// its collectives, from lane 2 on markers by thread) and, on a GPU, one lane per stream of its device. Spans of a host
// lane nest. All times of a rank, and of all ranks of a node, are by one monotonic clock.
//
// Events that execute work: kernel, copy, memset and collective. An op executes its own work too, unless its rank has
// events of a device: then it only submits work, which is found by correlation.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

enum class TraceKind {
  step,        // one whole traced step; lane 0
  phase,       // a TracePhase; StepRecord counts each moment to the innermost one
  range,       // a part of the model: "embedding", "layers.3", "head", "recompute"
  op,          // an operation, named by TraceOp
  collective,  // a collective while it runs: "all_gather", "reduce_scatter", "all_reduce"
  submit,      // the submission of a collective; its correlation is the collective's
  host_call,   // a call of the device's programming interface: "cudaLaunchKernel"
  kernel,      // on a device
  copy,
  memset,
  marker  // a range with which a library names its work (NVTX): "NCCL: ncclAllGather"
};
template <>
struct EnumNames<TraceKind> {
  static constexpr std::array kNames{std::pair{TraceKind::step, "step"},
                                     std::pair{TraceKind::phase, "phase"},
                                     std::pair{TraceKind::range, "range"},
                                     std::pair{TraceKind::op, "op"},
                                     std::pair{TraceKind::collective, "collective"},
                                     std::pair{TraceKind::submit, "submit"},
                                     std::pair{TraceKind::host_call, "host_call"},
                                     std::pair{TraceKind::kernel, "kernel"},
                                     std::pair{TraceKind::copy, "copy"},
                                     std::pair{TraceKind::memset, "memset"},
                                     std::pair{TraceKind::marker, "marker"}};
};

// The phases of a step. `other` is the time that no phase span covers; it has no span itself. bubble: a stage of a
// pipeline waits for its neighbour.
enum class TracePhase { other, data, forward, backward, exposed_comm, bubble, optimizer };
template <>
struct EnumNames<TracePhase> {
  static constexpr std::array kNames{std::pair{TracePhase::other, "other"},
                                     std::pair{TracePhase::data, "data"},
                                     std::pair{TracePhase::forward, "forward"},
                                     std::pair{TracePhase::backward, "backward"},
                                     std::pair{TracePhase::exposed_comm, "exposed_comm"},
                                     std::pair{TracePhase::bubble, "bubble"},
                                     std::pair{TracePhase::optimizer, "optimizer"}};
};

// The operations of engine/ops/ops.h. The names are the engine's own, and readers sort time by them.
enum class TraceOp {
  matmul,
  bias_backward,
  norm_forward,
  norm_apply,
  norm_backward,
  rope,
  attention_forward,
  attention_backward,
  relative_bias_forward,  // by distance, before attention
  relative_bias_backward,
  activation_forward,
  activation_backward,
  embedding_forward,
  embedding_backward,
  one_hot,  // the rows that an embedding's products read
  cross_entropy,
  cross_entropy_part,  // on a rank that has a part of the vocabulary
  cross_entropy_whole,
  score,          // of completions, in an evaluation
  route_forward,  // routes tokens to experts
  route_backward,
  dispatch,
  combine,
  gates_backward,
  expert_product,
  adamw,
  clip_scale,
  add,
  dropout,
  sum_parts,
  cast,           // a copy to another type
  quantize,       // to 8 bits, with a scale
  update_scales,  // of these scales, at the end of a step
  fill_normal,
  sum,
  sum_of_squares,
  copy,
  fill,
  upload,
  read_f64
};
template <>
struct EnumNames<TraceOp> {
  static constexpr std::array kNames{std::pair{TraceOp::matmul, "matmul"},
                                     std::pair{TraceOp::bias_backward, "bias_backward"},
                                     std::pair{TraceOp::norm_forward, "norm_forward"},
                                     std::pair{TraceOp::norm_apply, "norm_apply"},
                                     std::pair{TraceOp::norm_backward, "norm_backward"},
                                     std::pair{TraceOp::rope, "rope"},
                                     std::pair{TraceOp::attention_forward, "attention_forward"},
                                     std::pair{TraceOp::attention_backward, "attention_backward"},
                                     std::pair{TraceOp::relative_bias_forward, "relative_bias_forward"},
                                     std::pair{TraceOp::relative_bias_backward, "relative_bias_backward"},
                                     std::pair{TraceOp::activation_forward, "activation_forward"},
                                     std::pair{TraceOp::activation_backward, "activation_backward"},
                                     std::pair{TraceOp::embedding_forward, "embedding_forward"},
                                     std::pair{TraceOp::embedding_backward, "embedding_backward"},
                                     std::pair{TraceOp::one_hot, "one_hot"},
                                     std::pair{TraceOp::cross_entropy, "cross_entropy"},
                                     std::pair{TraceOp::cross_entropy_part, "cross_entropy_part"},
                                     std::pair{TraceOp::cross_entropy_whole, "cross_entropy_whole"},
                                     std::pair{TraceOp::score, "score"},
                                     std::pair{TraceOp::route_forward, "route_forward"},
                                     std::pair{TraceOp::route_backward, "route_backward"},
                                     std::pair{TraceOp::dispatch, "dispatch"},
                                     std::pair{TraceOp::combine, "combine"},
                                     std::pair{TraceOp::gates_backward, "gates_backward"},
                                     std::pair{TraceOp::expert_product, "expert_product"},
                                     std::pair{TraceOp::adamw, "adamw"},
                                     std::pair{TraceOp::clip_scale, "clip_scale"},
                                     std::pair{TraceOp::add, "add"},
                                     std::pair{TraceOp::dropout, "dropout"},
                                     std::pair{TraceOp::sum_parts, "sum_parts"},
                                     std::pair{TraceOp::cast, "cast"},
                                     std::pair{TraceOp::quantize, "quantize"},
                                     std::pair{TraceOp::update_scales, "update_scales"},
                                     std::pair{TraceOp::fill_normal, "fill_normal"},
                                     std::pair{TraceOp::sum, "sum"},
                                     std::pair{TraceOp::sum_of_squares, "sum_of_squares"},
                                     std::pair{TraceOp::copy, "copy"},
                                     std::pair{TraceOp::fill, "fill"},
                                     std::pair{TraceOp::upload, "upload"},
                                     std::pair{TraceOp::read_f64, "read_f64"}};
};

// The kind of span that an operation has.
constexpr TraceKind trace_kind(TraceOp op) {
  switch (op) {
    case TraceOp::copy:
    case TraceOp::upload:
    case TraceOp::read_f64:
      return TraceKind::copy;
    case TraceOp::fill:
      return TraceKind::memset;
    default:
      return TraceKind::op;
  }
}

inline constexpr std::int64_t kHostDevice = -1;

struct TraceEvent {
  static constexpr std::int64_t kVersion = 1;
  std::int64_t version = kVersion;
  std::int64_t rank = 0;
  std::int64_t step = 0;
  TraceKind kind = TraceKind::op;
  std::string name;         // from the engine; empty for device work that no known span has submitted
  std::string kernel_name;  // demangled
  std::string axis;         // for a collective: mesh axes and level, as in AxisTraffic
  std::string phase;        // for replayed work, the TracePhase in which it was recorded; otherwise empty
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t device = kHostDevice;
  std::int64_t lane = 0;         // on the host: a thread; on a device: a stream
  std::int64_t correlation = 0;  // joins a submission or call with the work that it started; 0: none
  std::int64_t bytes = 0;        // for copies, memsets and collectives: size of the full buffer
  std::string heading;           // for a message between neighbours: "onward" or "back" around the ring of its axis

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"version", "version of this record", 1, 1}, self.version);
    f(Field{"rank", "rank that wrote it", 0}, self.rank);
    f(Field{"step", "traced step; those of trace_steps are counted on from the timed ones", 0}, self.step);
    f(Field{"kind", "what it is a span of"}, self.kind);
    f(Field{"name", "the engine's name for it"}, self.name);
    f(Field{"kernel_name", "demangled name of a kernel"}, self.kernel_name);
    f(Field{"axis", "of a collective: mesh axes of one level"}, self.axis);
    f(Field{"phase", "phase in which replayed work was recorded"}.omitted_at_default(), self.phase);
    f(Field{"start_ns", "monotonic clock", 0}, self.start_ns);
    f(Field{"end_ns", "monotonic clock, not before start_ns", 0}, self.end_ns);
    f(Field{"device", "device, -1 for the host", -1, 1e6}, self.device);
    f(Field{"lane", "thread of the host or stream of the device", 0}, self.lane);
    f(Field{"correlation", "joins a call with what it started, 0 for none", 0}, self.correlation);
    f(Field{"bytes", "bytes moved, 0 where nothing is", 0}, self.bytes);
    f(Field{"heading", "of a message: onward or back around the ring of its axis"}.omitted_at_default(), self.heading);
  }
};

// The last line of a trace.
struct TraceEnd {
  std::int64_t version = TraceEvent::kVersion;
  std::int64_t rank = 0;
  std::int64_t steps = 0;            // traced
  std::int64_t events = 0;           // lines above this one
  std::int64_t buffers = 0;          // buffers of memory that were filled and written
  std::int64_t dropped_records = 0;  // records that found no room: with any, the trace is incomplete
  bool executed_singly = false;      // operations ran one by one, although timed steps replay recordings (CUDA graphs)

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"version", "version of this record", 1, 1}, self.version);
    f(Field{"rank", "rank that wrote it", 0}, self.rank);
    f(Field{"steps", "traced steps", 0}, self.steps);
    f(Field{"events", "events written", 0}, self.events);
    f(Field{"buffers", "buffers of records that were filled", 0}, self.buffers);
    f(Field{"dropped_records", "records that found no room", 0}, self.dropped_records);
    f(Field{"executed_singly", "timed steps replay recordings, these do not"}.omitted_at_default(),
      self.executed_singly);
  }
};

}  // namespace perfbench::spec
