// Attention with the probabilities in memory, as frameworks without a fused kernel compute it: matrix products over
// whole sequences, with a masked softmax between them.
#pragma once

#include <functional>

#include "engine/ops/cuda/matmul_provider.h"
#include "engine/ops/ops.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {

// f32 scores held at once when the probabilities are kept in bf16: as many as fit what every run's workspace has. A
// constant, so that the shapes of the products, and with them the bits, do not depend on the workspace of a run.
inline constexpr std::int64_t kScoreFloats = workspace::kMatmulBytes / static_cast<std::int64_t>(sizeof(float));

// What the passes are computed with. scratch: of dot_product_scratch_bytes. round: rounds f32 sums to their own type;
// as a part of this operation and not one more, which traces would hold against the dry walk.
struct DotProductTools {
  MatmulProvider& matmul;
  std::function<void(TensorView out, TensorView in)> round;
  cudaStream_t stream = nullptr;
  void* scratch = nullptr;
  std::int64_t score_floats = kScoreFloats;
};

std::int64_t dot_product_scratch_bytes(const AttentionDims& dims);

void dot_product_forward(const AttentionForwardArgs& args, const DotProductTools& tools);
void dot_product_backward(const AttentionBackwardArgs& args, const DotProductTools& tools);

}  // namespace perfbench::engine::cuda
