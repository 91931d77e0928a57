// A timeline of events on the compute stream.
#pragma once

#include <memory>

#include "engine/core/timeline.h"
#include "engine/cuda/cuda_device.h"

namespace perfbench::engine {

std::unique_ptr<Timeline> make_cuda_timeline(const CudaDevice& device);

}  // namespace perfbench::engine
