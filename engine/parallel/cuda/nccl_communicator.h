// An NCCL communicator for the ranks of one group. Its calls do not block: if a rank dies during one, this is noticed
// here instead of waiting for ever. Source: NCCL documentation, "Fault Tolerance".
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

// Wraps calls of NCCL whose failure ends the run. `call` is the name of the function, or of the collective.
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
  // Returns when all ranks have joined. Throws EngineError, also when that takes too long.
  explicit NcclCommunicator(const Options& options);
  // Call it when no operation is under way and no recording holds a collective of it: otherwise NCCL would wait for
  // ever.
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Blocks until the work of `call` has been enqueued. Throws EngineError as the constructor does.
  void enqueue(const std::string& name, const std::function<ncclResult_t(ncclComm_t)>& call);
  // An error that NCCL reports by itself, if any. For any thread.
  std::optional<std::string> fault() const;

 private:
  struct Abort {
    // Finalising would need all ranks, which are not there after an exception.
    void operator()(ncclComm_t comm) const { ncclCommAbort(comm); }
  };
  void settle(const std::string& call) const;
  ncclResult_t state() const;

  // NCCL completes a call within a later one, queries of its state included, and expects one call at a time.
  mutable std::mutex mutex_;
  std::chrono::milliseconds timeout_;
  NcclMemory memory_;  // stays at least as long as it is registered
  std::unique_ptr<ncclComm, Abort> comm_;
  void* registration_ = nullptr;
};

}  // namespace perfbench::engine
