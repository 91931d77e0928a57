// The backend's own flash attention (Dao, "FlashAttention-2", 2023): the scores exist one tile at a time.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

// Both throw EngineError (infeasible) for a head_dim above 256.
void flash_forward(const AttentionForwardArgs& args, cudaStream_t stream);
// `scratch`: delta[B, H, T], f32 (workspace::flash_bytes); with a bias, followed by sums (workspace::flash_bias_bytes).
void flash_backward(const AttentionBackwardArgs& args, void* scratch, cudaStream_t stream);

}  // namespace perfbench::engine::cuda
