#include "engine/parallel/nccl_collectives.h"

#include <nccl.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/core/cuda_event.h"
#include "engine/core/error.h"
#include "engine/parallel/watchdog.h"

namespace perfbench::engine {
namespace {

void nccl_check(ncclResult_t code, const char* call) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  throw EngineError(EngineExit::failed,
                    std::string(call) + " failed: " + ncclGetErrorString(code) + "; " + ncclGetLastError(nullptr));
}

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
  }
  throw LogicFault("no NCCL type for " + std::string(dtype_name(dtype)));
}

// The ranks of one axis. Its calls do not block: a rank that dies during one is noticed here, not waited for.
class Communicator {
 public:
  Communicator(const ncclUniqueId& id, std::int64_t ranks, std::int64_t index, const NcclMemory& memory)
      : memory_(memory) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    nccl_check(ncclCommInitRankConfig(&comm_, static_cast<int>(ranks), id, static_cast<int>(index), &config),
               "ncclCommInitRankConfig");
    settle("ncclCommInitRankConfig");
    if (!memory_.base) return;
    registration_ = register_with(comm_, memory_);
    settle("ncclCommRegister");
  }
  ~Communicator() {
    deregister_from(comm_, registration_);
    // Nothing is under way: every collective was waited for. Finalising would need all ranks, which an exception lacks.
    ncclCommAbort(comm_);
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  ncclComm_t get() const { return comm_; }
  // Until the last call has been enqueued.
  void settle(const char* call) const {
    ncclResult_t state = ncclInProgress;
    while (true) {
      nccl_check(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError");
      nccl_check(state, call);
      if (state == ncclSuccess) return;
      std::this_thread::yield();
    }
  }
  std::optional<std::string> fault() const {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
    const ncclResult_t worst = asked != ncclSuccess ? asked : state;
    if (worst == ncclSuccess || worst == ncclInProgress) return std::nullopt;
    return std::string("NCCL reports: ") + ncclGetErrorString(worst) + "; " + ncclGetLastError(comm_);
  }

 private:
  ncclComm_t comm_ = nullptr;
  NcclMemory memory_;  // stays at least as long as it is registered
  void* registration_ = nullptr;
};

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(const Mesh& mesh, const CudaDevice& device, Processes& processes, const NcclOptions& options)
      : Collectives(mesh), device_(device) {
    for (const auto axis : kMeshAxes) {
      if (mesh.size(axis) > 1) join(axis, processes, options.registered);
    }
    if (communicators_.empty()) return;
    watchdog_ = std::make_unique<Watchdog>(Watchdog::Options{
        .timeout = options.timeout,
        .fault = [this] { return fault(); },
        .give_up =
            [&processes, rank = mesh.rank()](const std::string& why) {
              std::fprintf(stderr, "perfbench-engine: rank %lld: %s\n", static_cast<long long>(rank), why.c_str());
              processes.abort(static_cast<int>(EngineExit::failed));
            },
    });
  }

 private:
  // Every rank of the run makes an id; those of a group use the first one's.
  void join(MeshAxis axis, Processes& processes, const NcclMemory& memory) {
    ncclUniqueId own{};
    nccl_check(ncclGetUniqueId(&own), "ncclGetUniqueId");
    std::vector<std::byte> all(sizeof(own) * static_cast<std::size_t>(processes.size()));
    processes.all_gather(all, std::as_bytes(std::span(&own, 1)));
    ncclUniqueId id{};
    std::memcpy(&id, all.data() + static_cast<std::size_t>(mesh().group(axis).front()) * sizeof(id), sizeof(id));
    communicators_.emplace(axis, std::make_unique<Communicator>(id, mesh().size(axis), mesh().index(axis), memory));
  }

  std::optional<std::string> fault() const {
    for (const auto& [axis, communicator] : communicators_) {
      if (auto wrong = communicator->fault()) return std::string(axis_name(axis)) + ": " + *wrong;
    }
    return std::nullopt;
  }

  const Communicator* along(MeshAxis axis) const {
    const auto found = communicators_.find(axis);
    return found == communicators_.end() ? nullptr : found->second.get();
  }

  // A collective's end. Waiting holds the compute stream, not the host.
  class Submitted final : public Pending::State {
   public:
    Submitted(std::shared_ptr<CudaEvent> ended, cudaStream_t compute) : ended_(std::move(ended)), compute_(compute) {}
    void wait() override { ended_->hold(compute_); }

   private:
    std::shared_ptr<CudaEvent> ended_;
    cudaStream_t compute_;
  };

  template <class Call>
  std::unique_ptr<Pending::State> submit(const Communicator& communicator, std::string name, Call call) {
    CudaEvent ready;
    ready.record(device_.compute());
    ready.hold(device_.communication());
    nccl_check(call(communicator.get(), device_.communication()), name.c_str());
    communicator.settle(name.c_str());
    auto ended = std::make_shared<CudaEvent>();
    ended->record(device_.communication());
    // An event of a recording marks no point in time that could be asked for.
    if (is_captured(device_.communication())) return std::make_unique<Submitted>(std::move(ended), device_.compute());
    watchdog_->watch(
        {.ended = [ended] { return cudaEventQuery(ended->get()) != cudaErrorNotReady; }, .name = std::move(name)});
    return std::make_unique<Submitted>(std::move(ended), device_.compute());
  }

  std::unique_ptr<Pending::State> within(TensorView to, TensorView from) const {
    if (to.data != from.data) {
      cuda_check(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(from.bytes()), cudaMemcpyDeviceToDevice,
                                 device_.compute()),
                 "cudaMemcpyAsync");
    }
    return nullptr;
  }

  static std::string named(const char* collective, MeshAxis axis, const TensorView& full) {
    return std::string(collective) + " over " + std::string(axis_name(axis)) + ", " + std::to_string(full.bytes()) +
           " bytes,";
  }

  std::unique_ptr<Pending::State> do_all_gather(MeshAxis axis, TensorView full, TensorView shard) override {
    const Communicator* group = along(axis);
    if (group == nullptr) return within(full, shard);
    return submit(*group, named("all_gather", axis, full), [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllGather(shard.data, full.data, static_cast<std::size_t>(shard.elements()), nccl_type(shard.dtype),
                           comm, stream);
    });
  }

  std::unique_ptr<Pending::State> do_reduce_scatter(MeshAxis axis, TensorView shard, TensorView full) override {
    const Communicator* group = along(axis);
    if (group == nullptr) return within(shard, full);
    return submit(*group, named("reduce_scatter", axis, full), [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclReduceScatter(full.data, shard.data, static_cast<std::size_t>(shard.elements()),
                               nccl_type(shard.dtype), ncclSum, comm, stream);
    });
  }

  std::unique_ptr<Pending::State> do_all_reduce(MeshAxis axis, TensorView buffer) override {
    const Communicator* group = along(axis);
    if (group == nullptr) return nullptr;
    return submit(*group, named("all_reduce", axis, buffer), [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllReduce(buffer.data, buffer.data, static_cast<std::size_t>(buffer.elements()),
                           nccl_type(buffer.dtype), ncclSum, comm, stream);
    });
  }

  const CudaDevice& device_;
  std::map<MeshAxis, std::unique_ptr<Communicator>> communicators_;
  std::unique_ptr<Watchdog> watchdog_;  // goes first: it asks the communicators
};

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(const Mesh& mesh, const CudaDevice& device, Processes& processes,
                                                   const NcclOptions& options) {
  return std::make_unique<NcclCollectives>(mesh, device, processes, options);
}

std::string nccl_version() {
  int version = 0;
  nccl_check(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace perfbench::engine
