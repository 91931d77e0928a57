// The arenas of a GPU: device memory and pinned host memory.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/core/memory.h"
#include "engine/cuda/cuda_device.h"

namespace perfbench::engine {

// `bytes` is what a dry walk of the run found, and is allocated at once; asking for more is a LogicFault. Throws
// OutOfMemory, telling how much is free, if the device has less.
std::unique_ptr<ArenaBacking> make_cuda_backing(const CudaDevice& device, std::int64_t bytes);
// Memory that another component allocated; it is freed with its last owner.
std::unique_ptr<ArenaBacking> make_cuda_backing(std::shared_ptr<void> base, std::int64_t bytes);
std::unique_ptr<ArenaBacking> make_cuda_host_backing(std::int64_t bytes);

}  // namespace perfbench::engine
