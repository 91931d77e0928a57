// The softmax of dot_product attention by rows. A row at place t of its sequence sees the keys from the beginning of
// its document to t; keys outside are never read.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/core/dtype.h"

namespace perfbench::engine::cuda {

// `heads` blocks of `rows` score rows of seq_len each, the first one at position `first_row`. They are dense.
struct ScoreRows {
  std::int64_t heads = 0;
  std::int64_t rows = 0;
  std::int64_t first_row = 0;
  std::int64_t seq_len = 0;
  const std::int32_t* first_T = nullptr;  // where documents of the rows' sequence begin; null if it is one document
};

// Where one head's rows of a [.., T, T] tensor begin, and the distance to the next head's.
struct KeptRows {
  void* data = nullptr;  // row first_row of the first head
  DType dtype = DType::f32;
  std::int64_t head_stride = 0;  // elements
};

// weights = softmax of the visible scores, with zeros around them; also writes logsumexp. scores may be the weights'
// own memory (f32). logsumexp[h * logsumexp_head_stride + r]. With a bias, bias[h * bias_head_stride + distance] is
// added first.
struct SoftmaxForwardArgs {
  ScoreRows shape;
  const float* scores = nullptr;
  std::int64_t scores_head_stride = 0;
  KeptRows weights;
  float* logsumexp = nullptr;
  std::int64_t logsumexp_head_stride = 0;
  const float* bias = nullptr;
  std::int64_t bias_head_stride = 0;
};
void masked_softmax_forward(const SoftmaxForwardArgs& args, cudaStream_t stream);

// dscores = weights * (dweights - sum of weights * dweights), with zeros around them; dweights may be the dscores' own
// memory (f32).
struct SoftmaxBackwardArgs {
  ScoreRows shape;
  const float* dweights = nullptr;
  std::int64_t dweights_head_stride = 0;
  KeptRows weights;  // only read
  KeptRows dscores;
};
void masked_softmax_backward(const SoftmaxBackwardArgs& args, cudaStream_t stream);

}  // namespace perfbench::engine::cuda
