// Communication between ranks. A collective is submitted to a lane, which runs its collectives in order of submission;
// `wait` makes the result usable. Every rank of a group submits the same sequence to a lane.
//
// A call states the layout before and after, as in "U/fsdp -> U": dims, and after a slash the mesh axis over which a
// dim is sharded. It is parsed when the program is compiled and checked against the buffers when it runs.
//
// Along axes that span both levels of the mesh, a collective has one part on each level, so that as little data as
// possible crosses nodes. An all-gather first gathers across the nodes, among the ranks at the same place of each node,
// then within each node. A reduce-scatter goes the other way, and an all-reduce does both. An all-reduce of f64, or of
// a buffer that does not divide over the ranks of a node, goes over all ranks at once: if each place of a node summed
// over the nodes separately, bits could differ from place to place. Each part of a sum of bf16 ends rounded to nearest
// (NCCL rounds on its way, too).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/monotonic_clock.h"
#include "engine/core/pending.h"
#include "engine/core/tensor.h"
#include "engine/parallel/layout_change.h"
#include "engine/parallel/mesh.h"
#include "engine/trace/trace_sink.h"
#include "workloads/spec/work_record.h"

namespace perfbench::engine {

// in_line: where the computation runs, in order with the operations. Work that is waited for at once gains nothing in
// another lane, and would wait behind work that is needed later. background: beside the computation. messages: between
// neighbours along one axis; each direction is in order by itself, so that messages pass each other.
enum class Lane { in_line, background, messages };

// Ranks that communicate in one order. Collectives of one group on two lanes do not wait for each other.
struct Channel {
  MeshGroup group;
  Lane lane = Lane::background;
  auto operator<=>(const Channel&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

// A communication that a program announces in advance.
struct Declared {
  AxisSet axes;
  Lane lane = Lane::background;
  auto operator<=>(const Declared&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

// The axes with several ranks along which neighbours exchange messages.
std::vector<Axis> rings_of(const Mesh& mesh, std::span<const Declared> declared);

class Collectives {
 public:
  virtual ~Collectives() = default;

  const Mesh& mesh() const { return mesh_; }

  // change: "U/fsdp -> U". full holds size(axis) times the elements of shard, by index (mesh.h). Any type.
  Pending all_gather(LayoutChange change, TensorView full, TensorView shard, Lane lane);
  // change: "U -> U/fsdp". shard[i] = sum over ranks of full[index*shard.elements() + i]; both f32 or both bf16. The
  // order of the sum is fixed by the ranks' indices, so that the bits repeat. Afterwards the contents of full are
  // undefined: parts are summed in place.
  Pending reduce_scatter(LayoutChange change, TensorView shard, TensorView full, Lane lane);
  // Both buffers have size(axes) equal parts: part j of `in` goes to the rank at index j, part j of `out` comes from
  // it. Both have one type and do not overlap. It goes over both levels at once, because each part has one destination.
  Pending all_to_all(AxisSet axes, TensorView out, TensorView in, Lane lane);
  // Sum over the axes, in place; f32, bf16 or f64. Equal bits on every rank.
  Pending all_reduce(AxisSet axes, TensorView buffer, Lane lane);
  // Maximum over the axes, in place and over both levels at once; f32, no NaN. It is for a few numbers: every rank may
  // receive those of all.
  Pending all_reduce_max(AxisSet axes, TensorView buffer, Lane lane);

  // Sends to the neighbour in that direction, and receives what the other neighbour sent in it; any type, the same size
  // on both sides. A message may wait for its receiver, which receives messages in the order in which they were sent.
  Pending send(Axis axis, Heading heading, TensorView buffer);
  Pending receive(Axis axis, Heading heading, TensorView buffer);

  // By group of ranks (so by axes and level), since the last reset, in the order of first use: the bytes submitted, and
  // how long the host waited in calls in line and in waits.
  const std::vector<spec::AxisTraffic>& traffic() const { return traffic_; }
  void reset_traffic() { traffic_.clear(); }
  // Adds the traffic of collectives that were not called one by one, in a replayed recording.
  void add_traffic(const std::vector<spec::AxisTraffic>& rows);

  // The clock that measures how long the host waits. Default: the machine's clock.
  void set_clock(std::function<std::int64_t()> now) { now_ = std::move(now); }

  // Call it when a recording with collectives was enqueued: these were not called here, but must not hang unnoticed.
  virtual void watch_replay() {}

  // Every collective along an axis with several ranks is submitted in one span of `sink` and runs in another: within
  // the first, or on the lane of the thread that runs it. Set it while no collective is under way.
  void set_trace(TraceSink* sink) { trace_ = sink; }

 protected:
  // `declared` lists every communication that will be used.
  Collectives(const Mesh& mesh, std::span<const Declared> declared);

  // The declared channels, each once, in an order that is the same on all ranks; and the axes of messages.
  std::vector<Channel> channels() const;
  std::vector<Axis> rings() const { return rings_of(mesh_, declared_); }
  std::string_view name_of(const Channel& channel) const { return names_.at(channel); }

  // The channel's group has several ranks; `shard` may lie at its own place in `full`.
  virtual std::unique_ptr<Pending::State> do_all_gather(const Channel& channel, TensorView full, TensorView shard) = 0;
  virtual std::unique_ptr<Pending::State> do_reduce_scatter(const Channel& channel, TensorView shard,
                                                            TensorView full) = 0;
  virtual std::unique_ptr<Pending::State> do_all_to_all(const Channel& channel, TensorView out, TensorView in) = 0;
  virtual std::unique_ptr<Pending::State> do_all_reduce(const Channel& channel, TensorView buffer) = 0;
  virtual std::unique_ptr<Pending::State> do_all_reduce_max(const Channel& channel, TensorView buffer) = 0;
  // Along one of the rings.
  virtual std::unique_ptr<Pending::State> do_send(Axis axis, Heading heading, TensorView buffer) = 0;
  virtual std::unique_ptr<Pending::State> do_receive(Axis axis, Heading heading, TensorView buffer) = 0;
  // Stands in for a gathering or a reduction with one rank.
  virtual std::unique_ptr<Pending::State> do_copy(TensorView to, TensorView from) = 0;

  // Whether calls in line, and waits, block the host until the result is there, rather than another queue.
  virtual bool host_waits() const { return false; }

  // Wraps a message that the host waits for, so that a trace shows the wait as a span.
  std::unique_ptr<Pending::State> waited_for(std::unique_ptr<Pending::State> message) const;

  // For the do_* functions: the sink, null unless traced, and the span of the collective that is being submitted.
  TraceSink* trace() const { return trace_; }
  const TraceSpan& handed_over() const { return handed_over_; }

 private:
  // All ranks along the axes. Throws LogicFault if they were not declared on the lane.
  MeshGroup declared_group(AxisSet axes, Lane lane) const;
  Pending gather(const Channel& channel, TensorView full, TensorView shard);
  Pending reduce(const Channel& channel, TensorView shard, TensorView full);
  Pending sum(const Channel& channel, TensorView buffer);
  // The part of `full` of which this rank's peers on the other level also hold a shard each.
  TensorView block(const MeshGroup& group, TensorView full) const;
  struct Call {
    std::string_view name;
    std::int64_t payload_bytes = 0;
    std::int64_t sent_bytes = 0;
    std::string_view heading = {};  // of a message
  };
  // Counts the traffic and submits with `start`.
  template <class Start>
  Pending hand_over(const Call& call, const Channel& channel, const Start& start);
  // Books the time that the host then waits.
  template <class Start>
  Pending begin(std::string_view name, const Channel& channel, const Start& start);
  class TimedWait;
  void book_waiting(std::string_view axis, std::string_view collective, std::int64_t since_ns);
  std::int64_t ring_bytes(const Channel& channel, std::int64_t payload_bytes, std::int64_t passes) const;
  Channel ring_channel(Axis axis, const MeshGroup& way) const;
  spec::AxisTraffic& row(std::string_view axis, std::string_view collective);

  Mesh mesh_;
  std::vector<Declared> declared_;
  std::map<Channel, std::string> names_;  // spans of a trace refer to them
  std::vector<spec::AxisTraffic> traffic_;
  std::function<std::int64_t()> now_ = monotonic_ns;
  TraceSink* trace_ = nullptr;
  TraceSpan handed_over_;
};

// Copies within one rank.
std::unique_ptr<Collectives> make_single_collectives();
// Counts traffic and moves no data; for any rank of any mesh.
std::unique_ptr<Collectives> make_dry_collectives(const Mesh& mesh, std::span<const Declared> declared);

}  // namespace perfbench::engine
