#include "engine/parallel/cuda/nccl_communicator.h"

#include <thread>

#include "engine/parallel/watchdog.h"

namespace perfbench::engine {

NcclCommunicator::NcclCommunicator(const Options& options) : timeout_(options.timeout), memory_(options.registered) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  nccl_check(ncclCommInitRankConfig(&comm, static_cast<int>(options.ranks), options.id, static_cast<int>(options.index),
                                    &config),
             "ncclCommInitRankConfig");
  comm_.reset(comm);
  settle("ncclCommInitRankConfig");
  if (!memory_.base) return;
  registration_ = register_with(comm, memory_);
  settle("ncclCommRegister");
}

NcclCommunicator::~NcclCommunicator() {
  deregister_from(comm_.get(), registration_);
}

void NcclCommunicator::enqueue(const std::string& name, const std::function<ncclResult_t(ncclComm_t)>& call) {
  {
    const std::scoped_lock lock(mutex_);
    nccl_check(call(comm_.get()), name);
  }
  settle(name);
}

std::optional<std::string> NcclCommunicator::fault() const {
  const ncclResult_t found = state();
  if (found == ncclSuccess || found == ncclInProgress) return std::nullopt;
  return std::string("NCCL reports: ") + ncclGetErrorString(found) + "; " + ncclGetLastError(comm_.get());
}

void NcclCommunicator::settle(const std::string& call) const {
  const auto begun = Watchdog::Clock::now();
  while (true) {
    const ncclResult_t found = state();
    nccl_check(found, call);
    if (found == ncclSuccess) return;
    const auto waited = Watchdog::Clock::now() - begun;
    if (waited >= timeout_) throw EngineError(EngineExit::failed, has_not_ended(call, waited));
    std::this_thread::yield();
  }
}

ncclResult_t NcclCommunicator::state() const {
  const std::scoped_lock lock(mutex_);
  ncclResult_t state = ncclInProgress;
  const ncclResult_t asked = ncclCommGetAsyncError(comm_.get(), &state);
  return asked == ncclSuccess ? state : asked;
}

}  // namespace perfbench::engine
