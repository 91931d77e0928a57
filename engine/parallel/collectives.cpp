// The public collectives: checks against the mesh, counts of the traffic, then the implementation.
#include "engine/parallel/collectives.h"

#include <algorithm>
#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

std::string shown(const TensorView& t) {
  return std::string(dtype_name(t.dtype)) + to_string(t.shape);
}

[[noreturn]] void mismatch(std::string_view call, std::string_view rule, const Mesh& mesh, MeshAxis axis,
                           std::initializer_list<TensorView> buffers) {
  std::string text = std::string(call) + ": " + std::string(rule) + "; " + std::string(axis_name(axis)) + " has " +
                     std::to_string(mesh.size(axis)) + " ranks, found";
  for (const auto& buffer : buffers) text += " " + shown(buffer);
  throw LogicFault(text);
}

std::string called(std::string_view collective, const LayoutChange& change) {
  return std::string(collective) + "(\"" + std::string(change.text()) + "\")";
}

}  // namespace

template <class Start>
Pending Collectives::hand_over(std::string_view name, MeshAxis axis, std::int64_t bytes, const Start& start) {
  if (trace_ == nullptr || mesh_.size(axis) == 1) return Pending(start());
  handed_over_ = {.kind = spec::TraceKind::collective,
                  .name = name,
                  .axis = axis_name(axis),
                  .correlation = handed_over_.correlation + 1,
                  .bytes = bytes};
  TraceSpan submit = handed_over_;
  submit.kind = spec::TraceKind::submit;
  const ScopedSpan span(trace_, TraceLane::schedule, submit);
  return Pending(start());
}

Pending Collectives::all_gather(LayoutChange change, TensorView full, TensorView shard) {
  const MeshAxis axis = change.axis();
  const auto call = [&] { return called("all_gather", change); };
  if (!change.gathers()) mismatch(call(), "its change must gather", mesh_, axis, {full, shard});
  if (full.dtype != shard.dtype || full.elements() != mesh_.size(axis) * shard.elements()) {
    mismatch(call(), "full holds one shard per rank, of one type", mesh_, axis, {full, shard});
  }
  count(axis, "all_gather", full.bytes(), 1);
  return hand_over("all_gather", axis, full.bytes(), [&] { return do_all_gather(axis, full, shard); });
}

Pending Collectives::reduce_scatter(LayoutChange change, TensorView shard, TensorView full) {
  const MeshAxis axis = change.axis();
  const auto call = [&] { return called("reduce_scatter", change); };
  if (change.gathers()) mismatch(call(), "its change must scatter", mesh_, axis, {shard, full});
  if (full.elements() != mesh_.size(axis) * shard.elements()) {
    mismatch(call(), "full holds one shard per rank", mesh_, axis, {shard, full});
  }
  if (full.dtype != DType::f32 || shard.dtype != DType::f32) {
    mismatch(call(), "sums are of f32", mesh_, axis, {shard, full});
  }
  count(axis, "reduce_scatter", full.bytes(), 1);
  return hand_over("reduce_scatter", axis, full.bytes(), [&] { return do_reduce_scatter(axis, shard, full); });
}

Pending Collectives::all_reduce(MeshAxis axis, TensorView buffer) {
  if (buffer.dtype != DType::f32 && buffer.dtype != DType::f64) {
    mismatch("all_reduce", "sums are of f32 or f64", mesh_, axis, {buffer});
  }
  count(axis, "all_reduce", buffer.bytes(), 2);
  return hand_over("all_reduce", axis, buffer.bytes(), [&] { return do_all_reduce(axis, buffer); });
}

// A ring of n ranks passes (n-1)/n of the payload through each rank, once to gather or scatter, twice to do both.
// See "Performance reported by NCCL tests", bus bandwidth, in NVIDIA/nccl-tests doc/PERFORMANCE.md.
void Collectives::count(MeshAxis axis, std::string_view collective, std::int64_t payload_bytes,
                        std::int64_t ring_passes) {
  const std::int64_t ranks = mesh_.size(axis);
  if (ranks == 1) return;  // nothing leaves the rank
  auto& total = row(axis_name(axis), collective);
  total.messages += 1;
  total.payload_bytes += payload_bytes;
  total.sent_bytes += ring_passes * (ranks - 1) * payload_bytes / ranks;
}

spec::AxisTraffic& Collectives::row(std::string_view axis, std::string_view collective) {
  const auto found = std::find_if(traffic_.begin(), traffic_.end(),
                                  [&](const auto& t) { return t.axis == axis && t.collective == collective; });
  if (found != traffic_.end()) return *found;
  return traffic_.emplace_back(spec::AxisTraffic{std::string(axis), std::string(collective)});
}

void Collectives::add_traffic(const std::vector<spec::AxisTraffic>& rows) {
  for (const auto& added : rows) {
    auto& total = row(added.axis, added.collective);
    total.messages += added.messages;
    total.payload_bytes += added.payload_bytes;
    total.sent_bytes += added.sent_bytes;
  }
}

}  // namespace perfbench::engine
