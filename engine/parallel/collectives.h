// Communication between ranks. Collectives are submitted and run in the order of submission, beside the computation;
// `wait` makes their result usable. Every rank of a group submits the same sequence.
//
// A call states the layout before and after, as in "U/fsdp -> U": dims, and after a slash the mesh axis a dim is
// sharded over. It is parsed when the program is compiled and checked against the buffers when it runs.
//
// Along axes that span both levels of the mesh a collective has one part on each, so that what crosses nodes is as
// little as can be: a gathering first brings together what the ranks at one place of each node hold, then what the
// ranks of a node hold; a reduction goes the other way, and a sum for all does both. A sum of what is no f32, or does not
// divide over the ranks of a node, goes over all ranks at once: summed over the nodes from each place of a node apart,
// its bits could differ from place to place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/pending.h"
#include "engine/core/tensor.h"
#include "engine/parallel/layout_change.h"
#include "engine/parallel/mesh.h"
#include "engine/trace/trace_sink.h"
#include "workloads/spec/record.h"

namespace perfbench::engine {

class Collectives {
 public:
  virtual ~Collectives() = default;

  const Mesh& mesh() const { return mesh_; }

  // change: "U/fsdp -> U". full holds size(axis) times shard's elements, by index (mesh.h). Any type.
  Pending all_gather(LayoutChange change, TensorView full, TensorView shard);
  // change: "U -> U/fsdp". shard[i] = sum over ranks of full[index*shard.elements() + i]; f32. The sum's order is fixed
  // by the ranks' indices, so that the bits repeat. What full holds afterwards is of no use: parts are summed in place.
  Pending reduce_scatter(LayoutChange change, TensorView shard, TensorView full);
  // In place sum over the axes; f32 or f64. Equal bits on every rank.
  Pending all_reduce(AxisSet axes, TensorView buffer);

  // By group of ranks, so by axes and level, since the last reset, in the order of first use.
  const std::vector<spec::AxisTraffic>& traffic() const { return traffic_; }
  void reset_traffic() { traffic_.clear(); }
  // Of collectives that were not called one by one: a replayed recording's.
  void add_traffic(const std::vector<spec::AxisTraffic>& rows);

  // Call when a recording that holds collectives was enqueued: they were not called, and yet are not to hang for ever.
  virtual void watch_replay() {}

  // Every collective along an axis of several ranks is handed over in a span of `sink`, and runs in another, on the
  // lane of the thread that runs it. Set it while none is under way.
  void set_trace(TraceSink* sink) { trace_ = sink; }

 protected:
  // `declared`: all that will be communicated along.
  Collectives(const Mesh& mesh, std::span<const AxisSet> declared);

  // Of the axes that were declared, each once.
  std::vector<MeshGroup> groups() const;
  std::string_view name_of(const MeshGroup& group) const { return names_.at(group); }

  // Within the group, which has several ranks; `shard` may lie at its own place in `full`.
  virtual std::unique_ptr<Pending::State> do_all_gather(const MeshGroup& group, TensorView full, TensorView shard) = 0;
  virtual std::unique_ptr<Pending::State> do_reduce_scatter(const MeshGroup& group, TensorView shard,
                                                            TensorView full) = 0;
  virtual std::unique_ptr<Pending::State> do_all_reduce(const MeshGroup& group, TensorView buffer) = 0;
  // What a gathering or a reduction of one rank comes to.
  virtual std::unique_ptr<Pending::State> do_copy(TensorView to, TensorView from) = 0;

  // For the do_* functions: null unless traced, and the span of the collective that is being handed over.
  TraceSink* trace() const { return trace_; }
  const TraceSpan& handed_over() const { return handed_over_; }

 private:
  // All ranks along the axes. Throws LogicFault where they were not declared.
  MeshGroup declared_group(AxisSet axes) const;
  Pending gather(const MeshGroup& group, TensorView full, TensorView shard);
  Pending reduce(const MeshGroup& group, TensorView shard, TensorView full);
  Pending sum(const MeshGroup& group, TensorView buffer);
  // The part of `full` that this rank's peers on the other level hold a shard of each, too.
  TensorView block(const MeshGroup& group, TensorView full) const;
  // Counts, and hands over to `start`.
  template <class Start>
  Pending hand_over(std::string_view name, const MeshGroup& group, std::int64_t payload_bytes, std::int64_t ring_passes,
                    const Start& start);
  spec::AxisTraffic& row(std::string_view axis, std::string_view collective);

  Mesh mesh_;
  std::vector<AxisSet> declared_;
  std::map<MeshGroup, std::string> names_;  // spans of a trace point at them
  std::vector<spec::AxisTraffic> traffic_;
  TraceSink* trace_ = nullptr;
  TraceSpan handed_over_;
};

// Copies within one rank.
std::unique_ptr<Collectives> make_single_collectives();
// Counts, moves nothing; any rank of any mesh.
std::unique_ptr<Collectives> make_dry_collectives(const Mesh& mesh, std::span<const AxisSet> declared);

}  // namespace perfbench::engine
