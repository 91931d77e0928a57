// Communication between ranks. A collective is submitted to a lane, which runs what it is given in that order; `wait`
// makes its result usable. Every rank of a group submits the same sequence to a lane.
//
// A call states the layout before and after, as in "U/fsdp -> U": dims, and after a slash the mesh axis a dim is
// sharded over. It is parsed when the program is compiled and checked against the buffers when it runs.
//
// Along axes that span both levels of the mesh a collective has one part on each, so that what crosses nodes is as
// little as can be: a gathering first brings together what the ranks at one place of each node hold, then what the
// ranks of a node hold; a reduction goes the other way, and a sum for all does both. A sum of f64, or of
// what does not divide over the ranks of a node, goes over all ranks at once: summed over the nodes from each place of
// a node apart, its bits could differ from place to place. Each part of a sum of bf16 ends rounded to nearest (NCCL
// rounds on its way, too).
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

// in_line: where the computation runs, at its place between the operations; what is waited for at once has nothing to
// gain elsewhere, and would wait behind what was submitted for later. background: beside the computation. messages:
// between neighbours along one axis; each direction is in order by itself, so that messages pass each other.
enum class Lane { in_line, background, messages };

// Ranks that communicate in one order: collectives of one group on two lanes do not wait for one another.
struct Channel {
  MeshGroup group;
  Lane lane = Lane::background;
  auto operator<=>(const Channel&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

// What a program says beforehand that it will communicate along.
struct Declared {
  AxisSet axes;
  Lane lane = Lane::background;
  auto operator<=>(const Declared&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
};

// The axes of several ranks along which neighbours exchange messages.
std::vector<Axis> rings_of(const Mesh& mesh, std::span<const Declared> declared);

class Collectives {
 public:
  virtual ~Collectives() = default;

  const Mesh& mesh() const { return mesh_; }

  // change: "U/fsdp -> U". full holds size(axis) times shard's elements, by index (mesh.h). Any type.
  Pending all_gather(LayoutChange change, TensorView full, TensorView shard, Lane lane);
  // change: "U -> U/fsdp". shard[i] = sum over ranks of full[index*shard.elements() + i]; both f32 or both bf16. The
  // sum's order is fixed by the ranks' indices, so that the bits repeat. What full holds afterwards is of no use: parts
  // are summed in place.
  Pending reduce_scatter(LayoutChange change, TensorView shard, TensorView full, Lane lane);
  // Of size(axes) equal parts, part j of `in` goes to the rank at index j, part j of `out` comes from it. One type; the
  // two do not overlap. Over both levels at once: each part has one way to go.
  Pending all_to_all(AxisSet axes, TensorView out, TensorView in, Lane lane);
  // In place sum over the axes; f32, bf16 or f64. Equal bits on every rank.
  Pending all_reduce(AxisSet axes, TensorView buffer, Lane lane);
  // In place maximum over the axes, at once over both levels; f32, no NaN. A few numbers: every rank may receive those
  // of all.
  Pending all_reduce_max(AxisSet axes, TensorView buffer, Lane lane);

  // To the neighbour in that direction, and what the other neighbour sent in it; any type, the same size on both sides.
  // A message may wait for its receiver, who receives in the order in which it was sent.
  Pending send(Axis axis, Heading heading, TensorView buffer);
  Pending receive(Axis axis, Heading heading, TensorView buffer);

  // By group of ranks, so by axes and level, since the last reset, in the order of first use: what was handed over, and
  // how long the host waited in calls in line and in waits.
  const std::vector<spec::AxisTraffic>& traffic() const { return traffic_; }
  void reset_traffic() { traffic_.clear(); }
  // Of collectives that were not called one by one: a replayed recording's.
  void add_traffic(const std::vector<spec::AxisTraffic>& rows);

  // What tells how long the host waits; the machine's clock unless it is set.
  void set_clock(std::function<std::int64_t()> now) { now_ = std::move(now); }

  // Call when a recording that holds collectives was enqueued: they were not called, and yet are not to hang for ever.
  virtual void watch_replay() {}

  // Every collective along an axis of several ranks is handed over in a span of `sink`, and runs in another, within it
  // or on the lane of the thread that runs it. Set it while none is under way.
  void set_trace(TraceSink* sink) { trace_ = sink; }

 protected:
  // `declared`: all that will be communicated along.
  Collectives(const Mesh& mesh, std::span<const Declared> declared);

  // Of what was declared, each once, in an order that is the same on all ranks; and the axes of messages.
  std::vector<Channel> channels() const;
  std::vector<Axis> rings() const { return rings_of(mesh_, declared_); }
  std::string_view name_of(const Channel& channel) const { return names_.at(channel); }

  // Within the channel's group, which has several ranks; `shard` may lie at its own place in `full`.
  virtual std::unique_ptr<Pending::State> do_all_gather(const Channel& channel, TensorView full, TensorView shard) = 0;
  virtual std::unique_ptr<Pending::State> do_reduce_scatter(const Channel& channel, TensorView shard,
                                                            TensorView full) = 0;
  virtual std::unique_ptr<Pending::State> do_all_to_all(const Channel& channel, TensorView out, TensorView in) = 0;
  virtual std::unique_ptr<Pending::State> do_all_reduce(const Channel& channel, TensorView buffer) = 0;
  virtual std::unique_ptr<Pending::State> do_all_reduce_max(const Channel& channel, TensorView buffer) = 0;
  // Along one of the rings.
  virtual std::unique_ptr<Pending::State> do_send(Axis axis, Heading heading, TensorView buffer) = 0;
  virtual std::unique_ptr<Pending::State> do_receive(Axis axis, Heading heading, TensorView buffer) = 0;
  // What a gathering or a reduction of one rank comes to.
  virtual std::unique_ptr<Pending::State> do_copy(TensorView to, TensorView from) = 0;

  // Whether calls in line, and waits, hold the host until the result is there; or some other queue than it.
  virtual bool host_waits() const { return false; }

  // What a message that the host waits for comes to where it is traced: its wait is a span.
  std::unique_ptr<Pending::State> waited_for(std::unique_ptr<Pending::State> message) const;

  // For the do_* functions: null unless traced, and the span of the collective that is being handed over.
  TraceSink* trace() const { return trace_; }
  const TraceSpan& handed_over() const { return handed_over_; }

 private:
  // All ranks along the axes. Throws LogicFault where they were not declared on the lane.
  MeshGroup declared_group(AxisSet axes, Lane lane) const;
  Pending gather(const Channel& channel, TensorView full, TensorView shard);
  Pending reduce(const Channel& channel, TensorView shard, TensorView full);
  Pending sum(const Channel& channel, TensorView buffer);
  // The part of `full` that this rank's peers on the other level hold a shard of each, too.
  TensorView block(const MeshGroup& group, TensorView full) const;
  // Counts, and hands over to `start`.
  template <class Start>
  Pending hand_over(std::string_view name, const Channel& channel, std::int64_t payload_bytes, std::int64_t sent_bytes,
                    const Start& start);
  // What the host then waits is booked.
  template <class Start>
  Pending begin(std::string_view name, const Channel& channel, const Start& start);
  class TimedWait;
  void book_waiting(std::string_view axis, std::string_view collective, std::int64_t since_ns);
  std::int64_t ring_bytes(const Channel& channel, std::int64_t payload_bytes, std::int64_t passes) const;
  Channel ring_channel(Axis axis, const MeshGroup& way) const;
  spec::AxisTraffic& row(std::string_view axis, std::string_view collective);

  Mesh mesh_;
  std::vector<Declared> declared_;
  std::map<Channel, std::string> names_;  // spans of a trace point at them
  std::vector<spec::AxisTraffic> traffic_;
  std::function<std::int64_t()> now_ = monotonic_ns;
  TraceSink* trace_ = nullptr;
  TraceSpan handed_over_;
};

// Copies within one rank.
std::unique_ptr<Collectives> make_single_collectives();
// Counts, moves nothing; any rank of any mesh.
std::unique_ptr<Collectives> make_dry_collectives(const Mesh& mesh, std::span<const Declared> declared);

}  // namespace perfbench::engine
