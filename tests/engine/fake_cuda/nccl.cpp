#include <nccl.h>

#include <memory>
#include <mutex>
#include <thread>

#include "tests/engine/fake_cuda/fake_cuda.h"
#include "tests/engine/fake_cuda/handles.h"

namespace perfbench::engine::fake_cuda {
namespace {

// A call on a communicator that lasts long enough for another thread's call to begin within it.
class WithinCall {
 public:
  explicit WithinCall(ncclComm* communicator) : communicator_(communicator) {
    if (communicator_->within++ > 0) note_overlap();
    for (int i = 0; i < 10; ++i) std::this_thread::yield();
  }
  ~WithinCall() { --communicator_->within; }
  WithinCall(const WithinCall&) = delete;
  WithinCall& operator=(const WithinCall&) = delete;

 private:
  ncclComm* communicator_;
};

// Kept to the end: a graph may outlive the communicator that it holds, which tests look for.
ncclComm* new_communicator(int ranks) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<ncclComm>> all;
  const std::scoped_lock lock(mutex);
  all.push_back(std::make_unique<ncclComm>());
  all.back()->ranks = ranks;
  return all.back().get();
}

ncclResult_t collective(const char* name, std::size_t elements, ncclComm* communicator, cudaStream_t stream) {
  const WithinCall within(communicator);
  note(name, static_cast<std::int64_t>(elements), communicator->ranks, stream);
  if (stream->captured != nullptr) {
    stream->captured->held.push_back(communicator);
    ++communicator->held_by;
  }
  return ncclInProgress;
}

}  // namespace
extern "C" {

const char* ncclGetErrorString(ncclResult_t) {
  return "an error";
}
const char* ncclGetLastError(ncclComm_t) {
  return "of the fake NCCL";
}
ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  note("ncclGetUniqueId");
  *id = {};
  id->internal[0] = 7;
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int ranks, ncclUniqueId id, int, ncclConfig_t*) {
  note("ncclCommInitRankConfig", id.internal[0]);
  *communicator = new_communicator(ranks);
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  const WithinCall within(communicator);
  note("ncclCommGetAsyncError");
  *state = answers().questions_in_progress-- > 0 ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  note("ncclCommAbort", communicator->held_by);
  return ncclSuccess;
}
ncclResult_t ncclAllGather(const void*, void*, std::size_t count, ncclDataType_t, ncclComm_t comm,
                           cudaStream_t stream) {
  return collective("ncclAllGather", count, comm, stream);
}
ncclResult_t ncclReduceScatter(const void*, void*, std::size_t count, ncclDataType_t, ncclRedOp_t, ncclComm_t comm,
                               cudaStream_t stream) {
  return collective("ncclReduceScatter", count, comm, stream);
}
ncclResult_t ncclAllReduce(const void*, void*, std::size_t count, ncclDataType_t, ncclRedOp_t, ncclComm_t comm,
                           cudaStream_t stream) {
  return collective("ncclAllReduce", count, comm, stream);
}

ncclResult_t ncclGroupStart() {
  note("ncclGroupStart");
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  note("ncclGroupEnd");
  return ncclInProgress;
}
ncclResult_t ncclSend(const void*, std::size_t count, ncclDataType_t, int, ncclComm_t comm, cudaStream_t stream) {
  return collective("ncclSend", count, comm, stream);
}
ncclResult_t ncclRecv(void*, std::size_t count, ncclDataType_t, int, ncclComm_t comm, cudaStream_t stream) {
  return collective("ncclRecv", count, comm, stream);
}

}  // extern "C"

}  // namespace perfbench::engine::fake_cuda
