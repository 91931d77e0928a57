// The ranks of one group, as NCCL knows them. Its calls do not block: a rank that dies during one is noticed here, not
// waited for. Source: NCCL documentation, "Fault Tolerance".
#pragma once

#include <nccl.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "engine/core/error.h"
#include "engine/parallel/cuda/nccl_buffers.h"

namespace perfbench::engine {

// Calls of NCCL whose failure ends the run go through this. `call`: the name of the function, or of the collective.
inline void nccl_check(ncclResult_t code, const std::string& call) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  throw EngineError(EngineExit::failed,
                    call + " failed: " + ncclGetErrorString(code) + "; " + ncclGetLastError(nullptr));
}

class NcclCommunicator {
 public:
  struct Options {
    ncclUniqueId id{};  // the same on all ranks
    std::int64_t ranks = 1;
    std::int64_t index = 0;
    NcclMemory registered = {};
    std::chrono::milliseconds timeout{};  // of each call
  };
  // When all ranks have joined. Throws EngineError, also when that takes too long.
  explicit NcclCommunicator(const Options& options);
  // Call when nothing is under way, and no recording holds a collective of it: NCCL would wait for ever.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Until what `call` hands over has been enqueued. Throws EngineError as the constructor.
  void enqueue(const std::string& name, const std::function<ncclResult_t(ncclComm_t)>& call);
  // What NCCL reports of itself, if anything. For any thread.
  std::optional<std::string> fault() const;

 private:
  struct Abort {
    // Finalising would need all ranks, which an exception lacks.
    void operator()(ncclComm_t comm) const { ncclCommAbort(comm); }
  };
  void settle(const std::string& call) const;
  ncclResult_t state() const;

  // NCCL ends what a call began within a later one, the question for its state included, and expects one at a time.
  mutable std::mutex mutex_;
  std::chrono::milliseconds timeout_;
  NcclMemory memory_;  // stays at least as long as it is registered
  std::unique_ptr<ncclComm, Abort> comm_;
  void* registration_ = nullptr;
};

}  // namespace perfbench::engine
