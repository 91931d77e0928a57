// The absent twin of nccl_buffers.cpp.
#include "engine/core/error.h"
#include "engine/parallel/cuda/nccl_buffers.h"

namespace perfbench::engine {

bool nccl_registration_wanted() {
  if (!asks_for_registration()) return false;
  throw BadInput(
      "PERFBENCH_NCCL_REGISTER=1: this perfbench-engine was built without an NCCL that registers memory; build it with "
      "NCCL 2.19 or newer");
}

std::string nccl_user_buffers() {
  return "absent";
}

NcclMemory allocate_nccl_memory(std::int64_t) {
  throw LogicFault("memory of NCCL in a build without it");
}

void* register_with(ncclComm*, const NcclMemory&) {
  throw LogicFault("memory of NCCL in a build without it");
}

void deregister_from(ncclComm*, void*) {}

}  // namespace perfbench::engine
