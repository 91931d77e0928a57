// Source: NCCL documentation, "User Buffer Registration".
#include "engine/parallel/cuda/nccl_buffers.h"

#include <nccl.h>

#include "engine/core/error.h"

namespace perfbench::engine {

bool nccl_registration_wanted() {
  return asks_for_registration();
}

std::string nccl_user_buffers() {
  return nccl_registration_wanted() ? "registered in runs of several GPUs" : "not registered";
}

NcclMemory allocate_nccl_memory(std::int64_t bytes) {
  if (bytes == 0) return {};
  void* base = nullptr;
  const ncclResult_t code = ncclMemAlloc(&base, static_cast<std::size_t>(bytes));
  if (code != ncclSuccess) {
    throw OutOfMemory("out of memory: NCCL cannot allocate the " + std::to_string(bytes) +
                      " bytes that the run needs: " + ncclGetErrorString(code) + "; " + ncclGetLastError(nullptr));
  }
  return {std::shared_ptr<void>(base, [](void* memory) { ncclMemFree(memory); }), bytes};
}

void* register_with(ncclComm* communicator, const NcclMemory& memory) {
  void* handle = nullptr;
  const ncclResult_t code =
      ncclCommRegister(communicator, memory.base.get(), static_cast<std::size_t>(memory.bytes), &handle);
  if (code != ncclSuccess && code != ncclInProgress) {
    throw EngineError(EngineExit::failed, std::string("ncclCommRegister failed: ") + ncclGetErrorString(code) + "; " +
                                              ncclGetLastError(communicator) + "; run without PERFBENCH_NCCL_REGISTER");
  }
  return handle;
}

void deregister_from(ncclComm* communicator, void* handle) {
  if (handle != nullptr) ncclCommDeregister(communicator, handle);
}

}  // namespace perfbench::engine
