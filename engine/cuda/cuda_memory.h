// The arenas of a GPU: device memory and pinned host memory.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/core/memory.h"
#include "engine/cuda/cuda_device.h"

namespace perfbench::engine {

// `bytes`: what a dry walk of the run found, allocated at once; asking for more is a LogicFault. Throws OutOfMemory
// with what is free when the device has less.
std::unique_ptr<ArenaBacking> make_cuda_backing(const CudaDevice& device, std::int64_t bytes);
// Memory that somebody else allocated and frees with the last that holds it.
std::unique_ptr<ArenaBacking> make_cuda_backing(std::shared_ptr<void> base, std::int64_t bytes);
std::unique_ptr<ArenaBacking> make_cuda_host_backing(std::int64_t bytes);

}  // namespace perfbench::engine
