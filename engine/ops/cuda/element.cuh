// Storage types of the kernels and their conversion to and from f32, in which all arithmetic is done.
#pragma once

#include <cuda_bf16.h>

namespace perfbench::engine::cuda {

__device__ inline float to_f32(float x) {
  return x;
}
__device__ inline float to_f32(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <class T>
__device__ T from_f32(float x);
template <>
__device__ inline float from_f32<float>(float x) {
  return x;
}
// To the nearest, ties to even.
template <>
__device__ inline __nv_bfloat16 from_f32<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

}  // namespace perfbench::engine::cuda
