// Collectives between GPUs. NCCL gets the mesh through MPI, then exchanges all data itself, on the device's stream of
// the lane. Implemented in nccl_collectives.cpp, or in no_nccl.cpp in a build without NCCL.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "engine/cuda/cuda_device.h"
#include "engine/parallel/cuda/nccl_buffers.h"
#include "engine/parallel/processes.h"

namespace perfbench::engine {

struct NcclOptions {
  // All ranks of the run end if a collective or a replay takes longer than this, or if NCCL reports an error by itself.
  // The same limit holds for joining the ranks and for submitting a collective.
  std::chrono::milliseconds timeout{600'000};
  std::chrono::milliseconds period{100};  // between two checks
  NcclMemory registered = {};  // with every communicator, if there is any; other memory can be communicated as well
};

// For a mesh of several GPUs: makes a communicator for each declared channel, and for each direction between neighbours
// that exchange messages. `processes` must outlive the result. Throws EngineError (infeasible) in a build without NCCL.
std::unique_ptr<Collectives> make_nccl_collectives(const Mesh& mesh, std::span<const Declared> declared,
                                                   const CudaDevice& device, Processes& processes,
                                                   const NcclOptions& options = {});
// Such as "2.28.9", or "absent".
std::string nccl_version();

}  // namespace perfbench::engine
