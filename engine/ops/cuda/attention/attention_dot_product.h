// Attention with the probabilities in memory, as frameworks without a fused kernel compute it: matrix products over
// whole sequences, with a masked softmax between them.
#pragma once

#include <functional>

#include "engine/ops/cuda/matmul/matmul_provider.h"
#include "engine/ops/ops.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {

// The tools of the passes. scratch: workspace::dot_product_bytes bytes. round: rounds f32 sums to their own type. It is
// part of this operation, because another operation in a trace would differ from the dry walk.
struct DotProductTools {
  MatmulProvider& matmul;
  std::function<void(RowsView out, TensorView in)> round;
  cudaStream_t stream = nullptr;
  void* scratch = nullptr;
  // The f32 scores held at once if the probabilities are kept in bf16. It is a constant, so that the shapes of the
  // products, and with them the bits, do not depend on a run's workspace.
  std::int64_t score_floats = workspace::kScoreFloats;
};

void dot_product_forward(const AttentionForwardArgs& args, const DotProductTools& tools);
void dot_product_backward(const AttentionBackwardArgs& args, const DotProductTools& tools);

}  // namespace perfbench::engine::cuda
