#include "engine/parallel/cuda/nccl_collectives.h"

#include <nccl.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <thread>
#include <vector>

#include "engine/core/error.h"
#include "engine/cuda/cuda_error.h"
#include "engine/cuda/cuda_event.h"
#include "engine/cuda/cuda_memory.h"
#include "engine/parallel/cuda/nccl_communicator.h"
#include "engine/parallel/watchdog.h"

namespace perfbench::engine {
namespace {

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ncclFloat32;
    case DType::bf16:
      return ncclBfloat16;
    case DType::f64:
      return ncclFloat64;
    case DType::i32:
      return ncclInt32;
    case DType::e4m3:
    case DType::e5m2:
      break;
  }
  throw LogicFault("no NCCL type for " + std::string(dtype_name(dtype)));
}

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(const Mesh& mesh, std::span<const Declared> declared, const CudaDevice& device, Processes& processes,
                  const NcclOptions& options)
      : Collectives(mesh, declared), device_(device), processes_(processes) {
    for (const auto& channel : channels()) {
      const auto& group = channel.group;
      communicators_[channel] = join(
          Seat{.first = mesh.ranks(group).front(), .ranks = mesh.size(group), .index = mesh.index(group)}, options);
    }
    for (const auto axis : rings()) join_ring(axis, options);
    if (communicators_.empty() && links_.empty()) return;
    watchdog_ = std::make_unique<Watchdog>(Watchdog::Options{
        .timeout = options.timeout,
        .period = options.period,
        .enter = [&device] { device.select(); },
        .fault = [this] { return fault(); },
        .give_up =
            [&processes, rank = mesh.rank()](const std::string& why) {
              std::fprintf(stderr, "perfbench-engine: rank %lld: %s\n", static_cast<long long>(rank), why.c_str());
              processes.abort(static_cast<int>(EngineExit::failed));
            },
    });
  }

  // All ranks do this together: otherwise a rank could destroy its communicators before another has received its last
  // message. After an exception they cannot: then all ranks end.
  ~NcclCollectives() override {
    if (watchdog_ == nullptr || std::uncaught_exceptions() > 0) return;
    const std::byte here{};
    std::vector<std::byte> all(static_cast<std::size_t>(processes_.size()));
    processes_.all_gather(all, std::span(&here, 1));
  }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  void watch_replay() override {
    if (watchdog_ == nullptr) return;
    auto ended = std::make_shared<CudaEvent>();
    ended->record(device_.compute());  // replays are enqueued on this stream
    watch(std::move(ended), "a replayed recording of collectives", device_.compute());
  }

 private:
  // This rank's place in a communicator. The first rank, by its global rank, makes the id.
  struct Seat {
    std::int64_t first = 0;
    std::int64_t ranks = 1;
    std::int64_t index = 0;
  };
  // Called by all ranks of the run; those without a seat only take part for the others. An unused id would keep a
  // thread and a socket.
  std::unique_ptr<NcclCommunicator> join(const std::optional<Seat>& seat, const NcclOptions& options) {
    ncclUniqueId own{};
    if (seat && seat->index == 0) nccl_check(ncclGetUniqueId(&own), "ncclGetUniqueId");
    std::vector<std::byte> all(sizeof(own) * static_cast<std::size_t>(processes_.size()));
    processes_.all_gather(all, std::as_bytes(std::span(&own, 1)));
    if (!seat) return nullptr;
    NcclCommunicator::Options place{
        .ranks = seat->ranks, .index = seat->index, .registered = options.registered, .timeout = options.timeout};
    std::memcpy(&place.id, all.data() + static_cast<std::size_t>(seat->first) * sizeof(own), sizeof(own));
    return std::make_unique<NcclCommunicator>(place);
  }

  // The sender has index 0, the receiver index 1. Each way has its own stream: on a shared one, a message that waits
  // for its receiver would hold up the message that this receiver waits for.
  struct Way {
    Axis axis = Axis::pp;
    Heading heading = Heading::onward;
    int index = 0;
    auto operator<=>(const Way&) const = default;  // NOLINT(modernize-use-nullptr): of what it expands to
  };
  struct Link {
    std::unique_ptr<NcclCommunicator> communicator;
    CudaStream stream{CudaPriority::greatest};
  };

  // Joins edges of the ring that share no rank at the same time: the even ones, the odd ones, and in a ring of odd
  // length the last.
  void join_ring(Axis axis, const NcclOptions& options) {
    const std::int64_t ranks = mesh().size(axis);
    const auto turn = [&](std::int64_t edge) { return ranks % 2 == 1 && edge + 1 == ranks ? 2 : edge % 2; };
    const std::int64_t ahead = mesh().place(axis);  // edge e is between the places e and e + 1
    const std::int64_t behind = (ahead + ranks - 1) % ranks;
    for (const auto heading : {Heading::onward, Heading::back}) {
      const std::int64_t out = heading == Heading::onward ? ahead : behind;
      const std::int64_t in = heading == Heading::onward ? behind : ahead;
      for (std::int64_t now = 0; now < 2 + ranks % 2; ++now) {
        std::optional<Seat> seat;
        if (turn(out) == now) seat = Seat{.first = mesh().rank(), .ranks = 2, .index = 0};
        if (turn(in) == now) seat = Seat{.first = mesh().neighbour(axis, opposite(heading)), .ranks = 2, .index = 1};
        auto communicator = join(seat, options);
        if (!seat) continue;
        Link& link = links_[{axis, heading, static_cast<int>(seat->index)}];
        link.communicator = std::move(communicator);
        connect(link, *seat, options.timeout);
      }
    }
  }

  // NCCL connects two ranks with their first message, for which the hosts of both wait (NVIDIA/nccl#783). Within the
  // schedule, one of them may be waiting for another rank.
  void connect(const Link& link, const Seat& seat, std::chrono::milliseconds timeout) const {
    const auto memory = make_cuda_backing(device_, 1);
    void* const byte = memory->at(0, 1);
    link.communicator->enqueue("the first message", [&](ncclComm_t comm) {
      return seat.index == 0 ? ncclSend(byte, 1, ncclInt8, 1, comm, link.stream.get())
                             : ncclRecv(byte, 1, ncclInt8, 0, comm, link.stream.get());
    });
    CudaEvent ended;
    ended.record(link.stream.get());
    const auto begun = Watchdog::Clock::now();
    for (auto state = cudaEventQuery(ended.get()); state != cudaSuccess; state = cudaEventQuery(ended.get())) {
      if (state != cudaErrorNotReady) cuda_check(state, "the first message");
      const auto waited = Watchdog::Clock::now() - begun;
      if (waited >= timeout) throw EngineError(EngineExit::failed, has_not_ended("the first message", waited));
      std::this_thread::yield();
    }
  }

  std::optional<std::string> fault() const {
    for (const auto& [channel, communicator] : communicators_) {
      if (auto wrong = communicator->fault()) return std::string(name_of(channel)) + ": " + *wrong;
    }
    for (const auto& [way, link] : links_) {
      if (auto wrong = link.communicator->fault()) return "messages along " + axes_name(way.axis) + ": " + *wrong;
    }
    return std::nullopt;
  }

  // The end of a collective. Waiting for it blocks the compute stream, not the host.
  class Submitted final : public Pending::State {
   public:
    Submitted(std::shared_ptr<CudaEvent> ended, cudaStream_t compute) : ended_(std::move(ended)), compute_(compute) {}
    void wait() override { ended_->hold(compute_); }

   private:
    std::shared_ptr<CudaEvent> ended_;
    cudaStream_t compute_;
  };

  // In line on the compute stream, otherwise on the communication stream.
  template <class Call>
  std::unique_ptr<Pending::State> submit(const Channel& channel, const std::string& name, const Call& call) {
    const bool in_line = channel.lane == Lane::in_line;
    return submit(*communicators_.at(channel), in_line ? device_.compute() : device_.communication(), name, call);
  }

  // Runs after the work that the compute stream already has.
  template <class Call>
  std::unique_ptr<Pending::State> submit(NcclCommunicator& communicator, cudaStream_t stream, const std::string& name,
                                         const Call& call) {
    const bool in_line = stream == device_.compute();
    if (!in_line) {
      CudaEvent ready;
      ready.record(device_.compute());
      ready.hold(stream);
    }
    communicator.enqueue(name, [&](ncclComm_t comm) { return call(comm, stream); });
    auto ended = std::make_shared<CudaEvent>();
    ended->record(stream);
    // An event of a recording cannot be queried: replays are watched as a whole.
    if (!is_captured(stream)) watch(ended, name, stream);
    if (in_line) return nullptr;
    return std::make_unique<Submitted>(std::move(ended), device_.compute());
  }

  void watch(std::shared_ptr<CudaEvent> ended, const std::string& name, cudaStream_t stream) {
    watchdog_->watch({.ended = [ended = std::move(ended)] { return cudaEventQuery(ended->get()) != cudaErrorNotReady; },
                      .name = name,
                      .queue = stream});
  }

  std::string named(const char* collective, const Channel& channel, const TensorView& full) const {
    return std::string(collective) + " over " + std::string(name_of(channel)) + ", " + std::to_string(full.bytes()) +
           " bytes,";
  }

  std::unique_ptr<Pending::State> do_copy(TensorView to, TensorView from) override {
    if (to.data != from.data) {
      cuda_check(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(from.bytes()), cudaMemcpyDeviceToDevice,
                                 device_.compute()),
                 "cudaMemcpyAsync");
    }
    return nullptr;
  }

  std::unique_ptr<Pending::State> do_all_gather(const Channel& channel, TensorView full, TensorView shard) override {
    return submit(channel, named("all_gather", channel, full), [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllGather(shard.data, full.data, static_cast<std::size_t>(shard.elements()), nccl_type(shard.dtype),
                           comm, stream);
    });
  }

  std::unique_ptr<Pending::State> do_reduce_scatter(const Channel& channel, TensorView shard,
                                                    TensorView full) override {
    return submit(channel, named("reduce_scatter", channel, full), [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclReduceScatter(full.data, shard.data, static_cast<std::size_t>(shard.elements()),
                               nccl_type(shard.dtype), ncclSum, comm, stream);
    });
  }

  // Source: NCCL documentation, "Point-to-point communication", "All-to-all".
  std::unique_ptr<Pending::State> do_all_to_all(const Channel& channel, TensorView out, TensorView in) override {
    const std::int64_t ranks = mesh().size(channel.group);
    const std::int64_t part = in.bytes() / ranks;
    return submit(channel, named("all_to_all", channel, in), [&](ncclComm_t comm, cudaStream_t stream) {
      ncclResult_t first_wrong = ncclGroupStart();
      const auto note = [&](ncclResult_t result) {
        const bool wrong = result != ncclSuccess && result != ncclInProgress;
        if (wrong && first_wrong == ncclSuccess) first_wrong = result;
      };
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const auto count = static_cast<std::size_t>(part);
        note(ncclSend(in.as<std::byte>() + rank * part, count, ncclInt8, static_cast<int>(rank), comm, stream));
        note(ncclRecv(out.as<std::byte>() + rank * part, count, ncclInt8, static_cast<int>(rank), comm, stream));
      }
      const ncclResult_t ended = ncclGroupEnd();  // in any case: an open group would include later calls
      return first_wrong != ncclSuccess ? first_wrong : ended;
    });
  }

  std::unique_ptr<Pending::State> do_all_reduce(const Channel& channel, TensorView buffer) override {
    return submit(channel, named("all_reduce", channel, buffer), [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllReduce(buffer.data, buffer.data, static_cast<std::size_t>(buffer.elements()),
                           nccl_type(buffer.dtype), ncclSum, comm, stream);
    });
  }

  std::unique_ptr<Pending::State> do_all_reduce_max(const Channel& channel, TensorView buffer) override {
    return submit(channel, named("all_reduce", channel, buffer), [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllReduce(buffer.data, buffer.data, static_cast<std::size_t>(buffer.elements()),
                           nccl_type(buffer.dtype), ncclMax, comm, stream);
    });
  }

  // Source: NCCL documentation, "Point To Point Communication Functions".
  std::unique_ptr<Pending::State> do_send(Axis axis, Heading heading, TensorView buffer) override {
    auto& link = links_.at({axis, heading, 0});
    return submit(*link.communicator, link.stream.get(), named("send", axis, buffer),
                  [&](ncclComm_t comm, cudaStream_t stream) {
                    return ncclSend(buffer.data, static_cast<std::size_t>(buffer.bytes()), ncclInt8, 1, comm, stream);
                  });
  }

  std::unique_ptr<Pending::State> do_receive(Axis axis, Heading heading, TensorView buffer) override {
    auto& link = links_.at({axis, heading, 1});
    return submit(*link.communicator, link.stream.get(), named("receive", axis, buffer),
                  [&](ncclComm_t comm, cudaStream_t stream) {
                    return ncclRecv(buffer.data, static_cast<std::size_t>(buffer.bytes()), ncclInt8, 0, comm, stream);
                  });
  }

  static std::string named(const char* what, Axis axis, const TensorView& buffer) {
    return std::string(what) + " along " + axes_name(axis) + ", " + std::to_string(buffer.bytes()) + " bytes,";
  }

  const CudaDevice& device_;
  Processes& processes_;
  std::map<Channel, std::unique_ptr<NcclCommunicator>> communicators_;
  std::map<Way, Link> links_;
  std::unique_ptr<Watchdog> watchdog_;  // destroyed first: it queries the communicators
};

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(const Mesh& mesh, std::span<const Declared> declared,
                                                   const CudaDevice& device, Processes& processes,
                                                   const NcclOptions& options) {
  return std::make_unique<NcclCollectives>(mesh, declared, device, processes, options);
}

std::string nccl_version() {
  int version = 0;
  nccl_check(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace perfbench::engine
