// The second half of the gradient of attention's bias: sums by the distance from a query back to a key.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

// dbias[b, h, d] = sum over rows i of dscores[b, h, i, i - d], in their order.
void sum_by_distance(TensorView dbias_BHT, TensorView dscores_BHTT, cudaStream_t stream);

// dbias[b, h, d] = sum over tiles of `rows` queries of partial[b, h, tile, d], in the order of the tiles that reach
// distance d.
void sum_tiles_by_distance(TensorView dbias_BHT, const float* partial, std::int64_t rows, cudaStream_t stream);

}  // namespace perfbench::engine::cuda
