// A timeline of events on the compute stream.
#pragma once

#include <memory>

#include "engine/core/cuda_device.h"
#include "engine/core/timeline.h"

namespace perfbench::engine {

std::unique_ptr<Timeline> make_cuda_timeline(const CudaDevice& device);

}  // namespace perfbench::engine
