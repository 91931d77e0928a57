// Collectives between GPUs. NCCL is told of the mesh by MPI, then exchanges everything itself, on the device's
// stream of the lane. nccl_collectives.cpp, or no_nccl.cpp in a build without NCCL.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "engine/cuda/cuda_device.h"
#include "engine/parallel/cuda/nccl_buffers.h"
#include "engine/parallel/processes.h"

namespace perfbench::engine {

struct NcclOptions {
  // A collective or a replay that has not ended by then, or an error that NCCL reports on its own, ends all ranks of
  // the run; to join the ranks, and to hand a collective over, takes no longer either.
  std::chrono::milliseconds timeout{600'000};
  std::chrono::milliseconds period{100};  // from one look to the next
  NcclMemory registered = {};  // with every communicator, where there is any; other memory can be communicated as well
};

// For a mesh of several GPUs, with a communicator for each channel of what is declared, and for each direction between
// neighbours who exchange messages. `processes` must outlive the result. Throws EngineError (infeasible) in a build
// without NCCL.
std::unique_ptr<Collectives> make_nccl_collectives(const Mesh& mesh, std::span<const Declared> declared,
                                                   const CudaDevice& device, Processes& processes,
                                                   const NcclOptions& options = {});
// "2.28.9", or "absent".
std::string nccl_version();

}  // namespace perfbench::engine
