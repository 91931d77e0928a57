// A loop over the elements of flat operands, or of rows that are apart, one vector at a time.
#pragma once

#include <numeric>

#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"

namespace perfbench::engine::cuda {

// Calls f(first, count) for every vector of N elements that belongs to this thread of one of `blocks` blocks; count < N
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

// For rows that are apart, the grid's y gives the first row of a block. Dense operands are one row.
struct RowExtent {
  std::int64_t rows = 0;
  std::int64_t width = 0;
};
inline RowExtent one_row(const Shape& shape) {
  return {1, shape.elements()};
}
inline RowExtent rows_of(const Shape& shape) {
  return {shape[0], shape[1]};
}

// Calls f(row, first, count) for every vector of a row.
template <int N, class F>
__device__ inline void for_each_vector_of_rows(const RowExtent& extent, F f) {
  for (std::int64_t row = blockIdx.y; row < extent.rows; row += gridDim.y) {
    for_each_vector<N>(extent.width, blockIdx.x, gridDim.x,
                       [&](std::int64_t first, std::int64_t count) { f(row, first, count); });
  }
}

inline LaunchShape rows_shape(const RowExtent& extent, int vector, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(std::clamp<std::int64_t>(extent.rows, 1, kMostBlocksYZ));
  return {.grid = {flat_blocks(extent.width, vector), rows}, .block = kFlatThreads, .stream = stream};
}

inline LaunchShape flat_shape(std::int64_t elements, int vector, cudaStream_t stream) {
  return {.grid = flat_blocks(elements, vector), .block = kFlatThreads, .stream = stream};
}

}  // namespace perfbench::engine::cuda
