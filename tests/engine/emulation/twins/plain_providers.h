// Plain loops in the place of cuBLASLt and cuDNN, so that a whole model runs on the emulated device.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

class MatmulProvider {
 public:
  void multiply(const MatmulArgs& args, cudaStream_t stream);
};

class AttentionProvider {
 public:
  void forward(const AttentionForwardArgs& args, cudaStream_t stream);
  void backward(const AttentionBackwardArgs& args, cudaStream_t stream);
};

}  // namespace perfbench::engine::cuda
