#include "engine/parallel/mpi_collectives.h"

#include <cstddef>
#include <functional>
#include <span>

#include "engine/parallel/local_copy.h"

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

class MpiCollectives : public Collectives {
 public:
  MpiCollectives(const Mesh& mesh, AxisGroups groups, CommunicationThread* thread)
      : Collectives(mesh), groups_(std::move(groups)), thread_(thread) {}

 private:
  std::unique_ptr<Pending::State> do_all_gather(MeshAxis axis, TensorView full, TensorView shard) override {
    if (RankGroup* group = group_along(axis)) {
      return submit([group, full, shard] { group->all_gather(raw(full), raw(shard)); });
    }
    local_copy(full, shard);
    return nullptr;
  }

  std::unique_ptr<Pending::State> do_reduce_scatter(MeshAxis axis, TensorView shard, TensorView full) override {
    if (RankGroup* group = group_along(axis)) {
      return submit([group, full, shard] { group->reduce_scatter(values<float>(shard), values<float>(full)); });
    }
    local_copy(shard, full);
    return nullptr;
  }

  std::unique_ptr<Pending::State> do_all_reduce(MeshAxis axis, TensorView buffer) override {
    RankGroup* group = group_along(axis);
    if (group == nullptr) return nullptr;
    return submit([group, buffer] {
      if (buffer.dtype == DType::f64) {
        group->all_reduce(values<double>(buffer));
      } else {
        group->all_reduce(values<float>(buffer));
      }
    });
  }

  RankGroup* group_along(MeshAxis axis) const {
    const auto found = groups_.find(axis);
    return found == groups_.end() ? nullptr : found->second;
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

  AxisGroups groups_;
  CommunicationThread* thread_;
};

}  // namespace

std::unique_ptr<Collectives> make_mpi_collectives(const Mesh& mesh, AxisGroups groups, CommunicationThread* thread) {
  return std::make_unique<MpiCollectives>(mesh, std::move(groups), thread);
}

}  // namespace perfbench::engine
