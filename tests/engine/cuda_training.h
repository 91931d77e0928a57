// The device that training_backend_cuda.cpp trains on.
#pragma once

#include "engine/cuda/cuda_device.h"
#include "tests/engine/training_backend.h"

namespace perfbench::engine {

// Never destroyed: the runtime may be gone before static objects are destroyed.
CudaDevice& training_gpu();

}  // namespace perfbench::engine
