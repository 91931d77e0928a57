// Device memory that NCCL may read and write in place ("user buffer registration"), without copies through its own
// buffers. NCCL itself registers the buffers of captured graphs (its NCCL_GRAPH_REGISTER); this is for memory that
// NVLink SHARP can reduce in, and for collectives outside graphs. Implemented in nccl_buffers.cpp, or in
// no_nccl_buffers.cpp if NCCL is missing or older than 2.19.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "engine/core/error.h"

struct ncclComm;

namespace perfbench::engine {

// Allocated by NCCL and shared: both the arena and the communicator that it is registered with keep it alive.
struct NcclMemory {
  std::shared_ptr<void> base;  // null: not allocated
  std::int64_t bytes = 0;
};

// Whether PERFBENCH_NCCL_REGISTER=1 is set, whatever NCCL this build has. Throws BadInput for values other than 1 and
// 0.
inline bool asks_for_registration() {
  const char* const set = std::getenv("PERFBENCH_NCCL_REGISTER");
  const std::string wanted = set == nullptr ? "" : set;
  if (wanted.empty() || wanted == "0") return false;
  if (wanted == "1") return true;
  throw BadInput("PERFBENCH_NCCL_REGISTER is '" + wanted + "', it must be 1 (register the arena with NCCL) or 0");
}
// The same for this build: throws BadInput if its NCCL cannot register buffers.
bool nccl_registration_wanted();
// For env.json: "registered in runs of several GPUs", "not registered", or "absent".
std::string nccl_user_buffers();

// Throws OutOfMemory.
NcclMemory allocate_nccl_memory(std::int64_t bytes);
// Returns a handle for deregister; both are local to this rank. Throws EngineError.
void* register_with(ncclComm* communicator, const NcclMemory& memory);
void deregister_from(ncclComm* communicator, void* handle);

}  // namespace perfbench::engine
