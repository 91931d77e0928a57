// The backend's own flash attention (Dao, "FlashAttention-2", 2023): the scores exist one tile at a time.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

// Throw EngineError (infeasible) for a head_dim above 256.
void flash_forward(const AttentionForwardArgs& args, cudaStream_t stream);
// `scratch` of flash_scratch_bytes.
void flash_backward(const AttentionBackwardArgs& args, void* scratch, cudaStream_t stream);

// delta[B, H, T], f32.
inline std::int64_t flash_scratch_bytes(const AttentionDims& d) {
  return d.batch * d.n_heads * d.seq_len * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace perfbench::engine::cuda
