// Attention with the probabilities in memory, as frameworks without a fused kernel compute it: matrix products over
// whole sequences, with a masked softmax between them.
#pragma once

#include "engine/ops/cuda/matmul_provider.h"
#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

// What the passes are computed with. `scratch` of dot_product_scratch_bytes; ops: for the rounding of f32 sums.
struct DotProductTools {
  MatmulProvider& matmul;
  Ops& ops;
  cudaStream_t stream = nullptr;
  void* scratch = nullptr;
};

std::int64_t dot_product_scratch_bytes(const AttentionDims& dims);

void dot_product_forward(const AttentionForwardArgs& args, const DotProductTools& tools);
void dot_product_backward(const AttentionBackwardArgs& args, const DotProductTools& tools);

}  // namespace perfbench::engine::cuda
