#include "engine/parallel/host_collectives.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <vector>

namespace perfbench::engine {
namespace {

class Submitted : public Pending::State {
 public:
  Submitted(CommunicationThread& thread, CommunicationThread::Ticket ticket) : thread_(&thread), ticket_(ticket) {}
  void wait() override { thread_->wait(ticket_); }

 private:
  CommunicationThread* thread_;
  CommunicationThread::Ticket ticket_;
};

std::span<std::byte> raw(const TensorView& t) {
  return {t.as<std::byte>(), static_cast<std::size_t>(t.bytes())};
}

template <class T>
std::span<T> values(const TensorView& t) {
  return {t.as<T>(), static_cast<std::size_t>(t.elements())};
}

class HostCollectives : public Collectives {
 public:
  HostCollectives(const Mesh& mesh, std::span<const Declared> declared, const MakeGroup& make,
                  CommunicationThread* background, Messages* messages)
      : Collectives(mesh, declared), background_(background), messages_(messages) {
    for (const auto& channel : channels()) ranks_[channel] = make(channel);
  }

 private:
  bool host_waits() const override { return true; }

  std::unique_ptr<Pending::State> do_all_gather(const Channel& channel, TensorView full, TensorView shard) override {
    return submit(channel, [full, shard](RankGroup& ranks) { ranks.all_gather(raw(full), raw(shard)); });
  }

  std::unique_ptr<Pending::State> do_reduce_scatter(const Channel& channel, TensorView shard,
                                                    TensorView full) override {
    return submit(channel, [full, shard](RankGroup& ranks) {
      if (full.dtype == DType::bf16) {
        ranks.reduce_scatter(values<Bf16>(shard), values<Bf16>(full));
      } else {
        ranks.reduce_scatter(values<float>(shard), values<float>(full));
      }
    });
  }

  std::unique_ptr<Pending::State> do_all_to_all(const Channel& channel, TensorView out, TensorView in) override {
    return submit(channel, [out, in](RankGroup& ranks) { ranks.all_to_all(raw(out), raw(in)); });
  }

  std::unique_ptr<Pending::State> do_all_reduce(const Channel& channel, TensorView buffer) override {
    return submit(channel, [buffer](RankGroup& ranks) {
      if (buffer.dtype == DType::f64) {
        ranks.all_reduce(values<double>(buffer));
      } else if (buffer.dtype == DType::bf16) {
        ranks.all_reduce(values<Bf16>(buffer));
      } else {
        ranks.all_reduce(values<float>(buffer));
      }
    });
  }

  std::unique_ptr<Pending::State> do_all_reduce_max(const Channel& channel, TensorView buffer) override {
    const auto count = static_cast<std::size_t>(mesh().size(channel.group));
    return submit(channel, [buffer, count](RankGroup& ranks) {
      const auto own = values<float>(buffer);
      std::vector<float> all(own.size() * count);
      ranks.all_gather(std::as_writable_bytes(std::span(all)), raw(buffer));
      for (std::size_t i = 0; i < all.size(); ++i) own[i % own.size()] = std::max(own[i % own.size()], all[i]);
    });
  }

  std::unique_ptr<Pending::State> do_send(Axis axis, Heading heading, TensorView buffer) override {
    return waited_for(messages_->send(mesh().neighbour(axis, heading), tag(axis, heading), raw(buffer)));
  }

  std::unique_ptr<Pending::State> do_receive(Axis axis, Heading heading, TensorView buffer) override {
    return waited_for(messages_->receive(mesh().neighbour(axis, opposite(heading)), tag(axis, heading), raw(buffer)));
  }
  static int tag(Axis axis, Heading heading) { return 2 * static_cast<int>(axis) + static_cast<int>(heading); }

  std::unique_ptr<Pending::State> do_copy(TensorView to, TensorView from) override {
    if (to.data != from.data) std::memmove(to.data, from.data, static_cast<std::size_t>(from.bytes()));
    return nullptr;
  }

  template <class Operation>
  std::unique_ptr<Pending::State> submit(const Channel& channel, const Operation& operation) {
    RankGroup& ranks = *ranks_.at(channel);
    if (channel.lane == Lane::in_line) {
      const ScopedSpan running(trace(), TraceLane::schedule, handed_over());
      operation(ranks);
      return nullptr;
    }
    return std::make_unique<Submitted>(*background_,
                                       background_->submit([operation, &ranks, sink = trace(), span = handed_over()] {
                                         const ScopedSpan running(sink, TraceLane::communication, span);
                                         operation(ranks);
                                       }));
  }

  std::map<Channel, RankGroup*> ranks_;
  CommunicationThread* background_;
  Messages* messages_;
};

}  // namespace

std::unique_ptr<Collectives> make_host_collectives(const Mesh& mesh, std::span<const Declared> declared,
                                                   const MakeGroup& make, CommunicationThread* background,
                                                   Messages* messages) {
  return std::make_unique<HostCollectives>(mesh, declared, make, background, messages);
}

std::unique_ptr<Collectives> make_single_collectives() {
  return make_host_collectives(Mesh(spec::MeshSpec{}, 0), {}, {}, nullptr, nullptr);
}

}  // namespace perfbench::engine
