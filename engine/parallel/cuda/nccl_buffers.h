// Device memory that NCCL may read and write where it lies ("user buffer registration"), in place of copying through
// buffers of its own. What graphs capture NCCL registers by itself (its NCCL_GRAPH_REGISTER); this is for memory that
// NVLink SHARP can reduce in, and for collectives outside of graphs. nccl_buffers.cpp, or no_nccl_buffers.cpp where
// NCCL is missing or older than 2.19.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "engine/core/error.h"

struct ncclComm;

namespace perfbench::engine {

// Allocated by NCCL and shared: a communicator that it is registered with holds it, and so does the arena.
struct NcclMemory {
  std::shared_ptr<void> base;  // null for none
  std::int64_t bytes = 0;
};

// PERFBENCH_NCCL_REGISTER=1, whatever NCCL this build has. Throws BadInput for what is neither 1 nor 0.
inline bool asks_for_registration() {
  const char* const set = std::getenv("PERFBENCH_NCCL_REGISTER");
  const std::string wanted = set == nullptr ? "" : set;
  if (wanted.empty() || wanted == "0") return false;
  if (wanted == "1") return true;
  throw BadInput("PERFBENCH_NCCL_REGISTER is '" + wanted + "', it must be 1 (register the arena with NCCL) or 0");
}
// The same of this build: throws BadInput where its NCCL registers nothing.
bool nccl_registration_wanted();
// For the record: "registered in runs of several GPUs", "not registered", or "absent".
std::string nccl_user_buffers();

// Throws OutOfMemory.
NcclMemory allocate_nccl_memory(std::int64_t bytes);
// A handle for deregister; both are local to this rank. Throws EngineError.
void* register_with(ncclComm* communicator, const NcclMemory& memory);
void deregister_from(ncclComm* communicator, void* handle);

}  // namespace perfbench::engine
