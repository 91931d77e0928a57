#pragma once

#include <cuda_runtime_api.h>

#include "engine/core/tensor.h"

namespace perfbench::engine::cuda {

// c[m, n] += bias[n]; c f32, bias f32 or bf16.
void add_bias(const TensorView& c, const TensorView& bias_n, cudaStream_t stream);

}  // namespace perfbench::engine::cuda
