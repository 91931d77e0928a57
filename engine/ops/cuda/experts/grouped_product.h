// Our own products of experts, for segments whose lengths only the device knows: bf16 on tensor cores, f32 by plain
// multiply-adds.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/ops/expert_operations.h"

namespace perfbench::engine::cuda {

// Arguments as in ExpertProductArgs without slots. A part's segments do not overlap and follow each other in the order
// of the experts.
void grouped_product(const ExpertProductArgs& args, cudaStream_t stream);

}  // namespace perfbench::engine::cuda
