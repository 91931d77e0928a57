#include "engine/ops/cuda/device/launch.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/operations/column_sums.h"

namespace perfbench::engine::cuda {
namespace {

constexpr unsigned kColumns = 32;  // of a block
constexpr unsigned kLanes = 32;    // they divide the groups: with 1024 groups each waits for 32 loads

__global__ void sum_groups_kernel(ColumnSums sums) {
  PERFBENCH_SHARED(float, of_lanes, kLanes* kColumns);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kColumns;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kColumns; first < sums.width; first += step) {
    const std::int64_t column = first + threadIdx.x;
    float sum = 0.0F;
    if (column < sums.width) {
      for (std::int64_t g = threadIdx.y; g < sums.groups; g += kLanes) sum += sums.partial[g * sums.stride + column];
    }
    of_lanes[threadIdx.y * kColumns + threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < sums.width) {
      for (unsigned lane = 1; lane < kLanes; ++lane) sum += of_lanes[lane * kColumns + threadIdx.x];
      sums.out[column] = sums.write == Write::accumulate ? sums.out[column] + sum : sum;
    }
    __syncthreads();
  }
}

}  // namespace

void sum_groups(const ColumnSums& sums, cudaStream_t stream) {
  launch("sum_groups", sum_groups_kernel,
         {.grid = row_blocks(divide_up(sums.width, kColumns)), .block = {kColumns, kLanes}, .stream = stream}, sums);
}

}  // namespace perfbench::engine::cuda
