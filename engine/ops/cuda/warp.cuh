// What the 32 lanes of a warp compute together; every lane gets the result, and the order is fixed.
#pragma once

#include "engine/ops/cuda/launch.cuh"

namespace perfbench::engine::cuda {

inline constexpr int kLanes = 32;
inline constexpr unsigned kAllLanes = ~0U;

__device__ inline float warp_sum(float x) {
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(kAllLanes, x, lanes);
  return x;
}

__device__ inline float warp_max(float x) {
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, lanes));
  return x;
}

}  // namespace perfbench::engine::cuda
