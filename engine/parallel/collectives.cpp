// The public collectives: they check arguments against the mesh, count the traffic, then call the implementation.
#include "engine/parallel/collectives.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

std::string shown(const TensorView& t) {
  return std::string(dtype_name(t.dtype)) + to_string(t.shape);
}

[[noreturn]] void mismatch(std::string_view call, std::string_view rule, const Mesh& mesh, AxisSet axes,
                           std::initializer_list<TensorView> buffers) {
  std::string text = std::string(call) + ": " + std::string(rule) + "; " + axes_name(axes) + " has " +
                     std::to_string(mesh.size(axes)) + " ranks, found";
  for (const auto& buffer : buffers) text += " " + shown(buffer);
  throw LogicFault(text);
}

std::string called(std::string_view collective, const LayoutChange& change) {
  return std::string(collective) + "(\"" + std::string(change.text()) + "\")";
}

// The parts of one collective, in the order of submission. They also end in this order, and each is waited for
// separately.
class Both final : public Pending::State {
 public:
  Both(Pending first, Pending second) : first_(std::move(first)), second_(std::move(second)) {}
  void wait() override {
    first_.wait();
    second_.wait();
  }

 private:
  Pending first_;
  Pending second_;
};

class WaitedMessage final : public Pending::State {
 public:
  WaitedMessage(std::unique_ptr<Pending::State> message, TraceSink* sink, const TraceSpan& span)
      : message_(std::move(message)), sink_(sink), span_(span) {}
  void wait() override {
    const ScopedSpan waiting(sink_, TraceLane::schedule, span_);
    message_.wait();
  }

 private:
  Pending message_;
  TraceSink* sink_;
  TraceSpan span_;
};

Pending both(Pending first, Pending second) {
  return Pending(std::make_unique<Both>(std::move(first), std::move(second)));
}

}  // namespace

class Collectives::TimedWait final : public Pending::State {
 public:
  // The names live as long as the collectives do.
  TimedWait(Collectives& of, std::string_view axis, std::string_view collective, std::unique_ptr<Pending::State> state)
      : of_(of), axis_(axis), collective_(collective), state_(std::move(state)) {}
  void wait() override {
    const std::int64_t since_ns = of_.now_();
    state_->wait();
    of_.book_waiting(axis_, collective_, since_ns);
  }

 private:
  Collectives& of_;
  std::string_view axis_;
  std::string_view collective_;
  std::unique_ptr<Pending::State> state_;
};

std::vector<Axis> rings_of(const Mesh& mesh, std::span<const Declared> declared) {
  std::vector<Axis> out;
  for (const auto axis : kAxes) {
    const bool named = std::find(declared.begin(), declared.end(), Declared{axis, Lane::messages}) != declared.end();
    if (named && mesh.size(axis) > 1) out.push_back(axis);
  }
  return out;
}

Collectives::Collectives(const Mesh& mesh, std::span<const Declared> declared)
    : mesh_(mesh), declared_(declared.begin(), declared.end()) {
  for (const auto& [axes, lane] : declared_) {
    const auto [ici, dcn] = mesh_.group(axes);
    for (const auto& group : {MeshGroup{.ici = ici}, MeshGroup{.dcn = dcn}, MeshGroup{ici, dcn}}) {
      if (group != MeshGroup{}) names_.try_emplace(Channel{group, lane}, group.name());
    }
  }
}

std::vector<Channel> Collectives::channels() const {
  std::vector<Channel> out;
  for (const auto& [channel, name] : names_) {
    if (channel.lane != Lane::messages) out.push_back(channel);
  }
  return out;
}

Channel Collectives::ring_channel(Axis axis, const MeshGroup& way) const {
  declared_group(axis, Lane::messages);
  if (mesh_.size(axis) == 1) throw LogicFault("a message along " + axes_name(axis) + ", which has one rank");
  return {way, Lane::messages};
}

MeshGroup Collectives::declared_group(AxisSet axes, Lane lane) const {
  const auto group = mesh_.group(axes);
  if (group != MeshGroup{} && std::find(declared_.begin(), declared_.end(), Declared{axes, lane}) == declared_.end()) {
    constexpr std::array<std::string_view, 3> kLanes{" in line", " in the background", " by messages"};
    throw LogicFault("communication along " + axes_name(axes) + std::string(kLanes[static_cast<std::size_t>(lane)]) +
                     ", which was not declared");
  }
  return group;
}

TensorView Collectives::block(const MeshGroup& group, TensorView full) const {
  const std::int64_t elements = full.elements() / mesh_.size(group);
  return full.slice(mesh_.index(group) * elements, Shape{elements});
}

Pending Collectives::all_gather(LayoutChange change, TensorView full, TensorView shard, Lane lane) {
  const AxisSet axes = change.axis();
  const auto call = [&] { return called("all_gather", change); };
  if (!change.gathers()) mismatch(call(), "its change must gather", mesh_, axes, {full, shard});
  if (full.dtype != shard.dtype || full.elements() != mesh_.size(axes) * shard.elements()) {
    mismatch(call(), "full holds one shard per rank, of one type", mesh_, axes, {full, shard});
  }
  const auto group = declared_group(axes, lane);
  if (group == MeshGroup{}) return Pending(do_copy(full, shard));
  if (!group.on_both_levels()) return gather({group, lane}, full, shard);
  const Channel node{{.ici = group.ici}, lane};
  const Channel across{{.dcn = group.dcn}, lane};
  const auto part = block(node.group, full);
  auto first = gather(across, part, shard);
  return both(std::move(first), gather(node, full, part));
}

Pending Collectives::reduce_scatter(LayoutChange change, TensorView shard, TensorView full, Lane lane) {
  const AxisSet axes = change.axis();
  const auto call = [&] { return called("reduce_scatter", change); };
  if (change.gathers()) mismatch(call(), "its change must scatter", mesh_, axes, {shard, full});
  if (full.elements() != mesh_.size(axes) * shard.elements()) {
    mismatch(call(), "full holds one shard per rank", mesh_, axes, {shard, full});
  }
  if (full.dtype != shard.dtype || (full.dtype != DType::f32 && full.dtype != DType::bf16)) {
    mismatch(call(), "sums are of f32 or of bf16", mesh_, axes, {shard, full});
  }
  const auto group = declared_group(axes, lane);
  if (group == MeshGroup{}) return Pending(do_copy(shard, full));
  if (!group.on_both_levels()) return reduce({group, lane}, shard, full);
  const Channel node{{.ici = group.ici}, lane};
  const Channel across{{.dcn = group.dcn}, lane};
  const auto part = block(node.group, full);
  auto first = reduce(node, part, full);
  return both(std::move(first), reduce(across, shard, part));
}

Pending Collectives::all_to_all(AxisSet axes, TensorView out, TensorView in, Lane lane) {
  if (out.dtype != in.dtype || out.elements() != in.elements() || in.elements() % mesh_.size(axes) != 0) {
    mismatch("all_to_all", "one type, as many elements, in equal parts", mesh_, axes, {out, in});
  }
  const Channel channel{declared_group(axes, lane), lane};
  if (channel.group == MeshGroup{}) return Pending(do_copy(out, in));
  return hand_over({"all_to_all", in.bytes(), ring_bytes(channel, in.bytes(), 1)}, channel,
                   [&] { return do_all_to_all(channel, out, in); });
}

Pending Collectives::all_reduce(AxisSet axes, TensorView buffer, Lane lane) {
  const bool may_be_cut = buffer.dtype == DType::f32 || buffer.dtype == DType::bf16;
  if (!may_be_cut && buffer.dtype != DType::f64) {
    mismatch("all_reduce", "sums are of f32, bf16 or f64", mesh_, axes, {buffer});
  }
  const auto group = declared_group(axes, lane);
  if (group == MeshGroup{}) return {};
  const Channel node{{.ici = group.ici}, lane};
  const Channel across{{.dcn = group.dcn}, lane};
  const bool cut = may_be_cut && buffer.elements() % mesh_.size(node.group) == 0;
  if (!group.on_both_levels() || !cut) return sum({group, lane}, buffer);
  const auto part = block(node.group, buffer);
  auto scattered = reduce(node, part, buffer);
  auto summed = sum(across, part);
  auto first = both(std::move(scattered), std::move(summed));
  return both(std::move(first), gather(node, buffer, part));
}

Pending Collectives::all_reduce_max(AxisSet axes, TensorView buffer, Lane lane) {
  if (buffer.dtype != DType::f32) mismatch("all_reduce_max", "maxima are of f32", mesh_, axes, {buffer});
  const Channel channel{declared_group(axes, lane), lane};
  if (channel.group == MeshGroup{}) return {};
  return hand_over({"all_reduce", buffer.bytes(), ring_bytes(channel, buffer.bytes(), 2)}, channel,
                   [&] { return do_all_reduce_max(channel, buffer); });
}

Pending Collectives::send(Axis axis, Heading heading, TensorView buffer) {
  const auto channel = ring_channel(axis, mesh_.way(axis, heading));
  return hand_over({"send", buffer.bytes(), buffer.bytes(), heading_name(heading)}, channel,
                   [&] { return do_send(axis, heading, buffer); });
}

Pending Collectives::receive(Axis axis, Heading heading, TensorView buffer) {
  const auto channel = ring_channel(axis, mesh_.way(axis, opposite(heading)));
  return hand_over({"receive", buffer.bytes(), 0, heading_name(heading)}, channel,
                   [&] { return do_receive(axis, heading, buffer); });
}

std::unique_ptr<Pending::State> Collectives::waited_for(std::unique_ptr<Pending::State> message) const {
  if (trace_ == nullptr) return message;
  return std::make_unique<WaitedMessage>(std::move(message), trace_, handed_over_);
}

// A ring of n ranks passes (n-1)/n of the payload through each rank, once to gather or scatter, twice to do both. A
// rank that exchanges data with all others also sends (n-1)/n of it. See "Performance reported by NCCL tests", bus
// bandwidth, in NVIDIA/nccl-tests doc/PERFORMANCE.md.
std::int64_t Collectives::ring_bytes(const Channel& channel, std::int64_t payload_bytes, std::int64_t passes) const {
  const std::int64_t ranks = mesh_.size(channel.group);
  return passes * (ranks - 1) * payload_bytes / ranks;
}

template <class Start>
Pending Collectives::hand_over(const Call& call, const Channel& channel, const Start& start) {
  auto& total = row(name_of(channel), call.name);
  total.messages += 1;
  total.payload_bytes += call.payload_bytes;
  total.sent_bytes += call.sent_bytes;
  if (trace_ == nullptr) return begin(call.name, channel, start);
  handed_over_ = {.kind = spec::TraceKind::collective,
                  .name = call.name,
                  .axis = name_of(channel),
                  .correlation = handed_over_.correlation + 1,
                  .bytes = call.payload_bytes,
                  .heading = call.heading};
  TraceSpan submit = handed_over_;
  submit.kind = spec::TraceKind::submit;
  const ScopedSpan span(trace_, TraceLane::schedule, submit);
  return begin(call.name, channel, start);
}

template <class Start>
Pending Collectives::begin(std::string_view name, const Channel& channel, const Start& start) {
  if (!host_waits()) return Pending(start());
  const std::int64_t since_ns = now_();
  auto state = start();
  if (channel.lane == Lane::in_line) book_waiting(name_of(channel), name, since_ns);
  if (state == nullptr) return {};
  return Pending(std::make_unique<TimedWait>(*this, name_of(channel), name, std::move(state)));
}

void Collectives::book_waiting(std::string_view axis, std::string_view collective, std::int64_t since_ns) {
  row(axis, collective).exposed_ns += now_() - since_ns;
}

Pending Collectives::gather(const Channel& channel, TensorView full, TensorView shard) {
  return hand_over({"all_gather", full.bytes(), ring_bytes(channel, full.bytes(), 1)}, channel,
                   [&] { return do_all_gather(channel, full, shard); });
}

Pending Collectives::reduce(const Channel& channel, TensorView shard, TensorView full) {
  return hand_over({"reduce_scatter", full.bytes(), ring_bytes(channel, full.bytes(), 1)}, channel,
                   [&] { return do_reduce_scatter(channel, shard, full); });
}

Pending Collectives::sum(const Channel& channel, TensorView buffer) {
  return hand_over({"all_reduce", buffer.bytes(), ring_bytes(channel, buffer.bytes(), 2)}, channel,
                   [&] { return do_all_reduce(channel, buffer); });
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
    total.exposed_ns += added.exposed_ns;
  }
}

}  // namespace perfbench::engine
