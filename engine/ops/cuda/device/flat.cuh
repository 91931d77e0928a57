// A loop over the elements of flat operands, a vector at a time.
#pragma once

#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"

namespace perfbench::engine::cuda {

// Calls f(first, count) for every vector of N elements that falls to this thread of one of `blocks` blocks; count < N
// only at the end.
template <int N, class F>
__device__ inline void for_each_vector(std::int64_t elements, unsigned block, unsigned blocks, F f) {
  const std::int64_t step = static_cast<std::int64_t>(blocks) * blockDim.x * N;
  const std::int64_t mine = (static_cast<std::int64_t>(block) * blockDim.x + threadIdx.x) * N;
  for (std::int64_t first = mine; first < elements; first += step) {
    f(first, elements - first < N ? elements - first : std::int64_t{N});
  }
}
template <int N, class F>
__device__ inline void for_each_vector(std::int64_t elements, F f) {
  for_each_vector<N>(elements, blockIdx.x, gridDim.x, f);
}

inline LaunchShape flat_shape(std::int64_t elements, int vector, cudaStream_t stream) {
  return {.grid = flat_blocks(elements, vector), .block = kFlatThreads, .stream = stream};
}

}  // namespace perfbench::engine::cuda
