// Sums and maxima over the threads of a block, in an order fixed by the number of threads; every thread gets the
// result. Blocks consist of whole warps.
#pragma once

#include "engine/ops/cuda/device/launch.cuh"

namespace perfbench::engine::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;
inline constexpr int kMostThreads = 1024;

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
// Drops a NaN, as fmaxf does.
struct Maximum {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <class T, class Combine>
__device__ T over_warp(T value, Combine combine) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

// `neutral` stands in for warps that the block does not have.
template <class T, class Combine>
__device__ T over_block(T value, T neutral, Combine combine) {
  PERFBENCH_SHARED(T, of_warps, kWarp);
  const int thread = static_cast<int>(threadIdx.x);
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  value = over_warp(value, combine);
  if (warps == 1) return value;
  if (thread % kWarp == 0) of_warps[thread / kWarp] = value;
  __syncthreads();
  const T part = thread % kWarp < warps ? of_warps[thread % kWarp] : neutral;
  const T result = over_warp(part, combine);
  __syncthreads();  // the next reduction overwrites of_warps
  return result;
}

template <class T>
__device__ T sum_over_block(T value) {
  return over_block(value, T{0}, Sum{});
}

}  // namespace perfbench::engine::cuda
