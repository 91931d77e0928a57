#include "engine/parallel/host_collectives.h"

#include <cstddef>
#include <cstring>
#include <map>
#include <span>

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
  HostCollectives(const Mesh& mesh, std::span<const AxisSet> declared, const MakeGroup& make,
                  CommunicationThread* thread)
      : Collectives(mesh, declared), thread_(thread) {
    for (const auto& group : groups()) ranks_[group] = make(group);
  }

 private:
  std::unique_ptr<Pending::State> do_all_gather(const MeshGroup& group, TensorView full, TensorView shard) override {
    return submit([ranks = ranks_.at(group), full, shard] { ranks->all_gather(raw(full), raw(shard)); });
  }

  std::unique_ptr<Pending::State> do_reduce_scatter(const MeshGroup& group, TensorView shard,
                                                    TensorView full) override {
    return submit(
        [ranks = ranks_.at(group), full, shard] { ranks->reduce_scatter(values<float>(shard), values<float>(full)); });
  }

  std::unique_ptr<Pending::State> do_all_reduce(const MeshGroup& group, TensorView buffer) override {
    return submit([ranks = ranks_.at(group), buffer] {
      if (buffer.dtype == DType::f64) {
        ranks->all_reduce(values<double>(buffer));
      } else {
        ranks->all_reduce(values<float>(buffer));
      }
    });
  }

  std::unique_ptr<Pending::State> do_copy(TensorView to, TensorView from) override {
    if (to.data != from.data) std::memmove(to.data, from.data, static_cast<std::size_t>(from.bytes()));
    return nullptr;
  }

  std::unique_ptr<Pending::State> submit(std::function<void()> operation) {
    if (trace() != nullptr) {
      operation = [sink = trace(), span = handed_over(), untraced = std::move(operation)] {
        const ScopedSpan running(sink, TraceLane::communication, span);
        untraced();
      };
    }
    return std::make_unique<Submitted>(*thread_, thread_->submit(std::move(operation)));
  }

  std::map<MeshGroup, RankGroup*> ranks_;
  CommunicationThread* thread_;
};

}  // namespace

std::unique_ptr<Collectives> make_host_collectives(const Mesh& mesh, std::span<const AxisSet> declared,
                                                   const MakeGroup& make, CommunicationThread* thread) {
  return std::make_unique<HostCollectives>(mesh, declared, make, thread);
}

std::unique_ptr<Collectives> make_single_collectives() {
  return make_host_collectives(Mesh(spec::MeshSpec{}, 0), {}, {}, nullptr);
}

}  // namespace perfbench::engine
