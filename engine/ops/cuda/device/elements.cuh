// Storage types of the kernels and their vectors of up to 16 bytes. Arithmetic is in f32 or f64; a result is rounded
// once, to nearest even, when it is stored.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <initializer_list>

#include "engine/core/error.h"
#include "engine/core/tensor.h"
#include "engine/ops/cuda/device/launch.cuh"

namespace perfbench::engine::cuda {

using Bf16 = __nv_bfloat16;

// Elements in one 16-byte load.
template <class T>
inline constexpr int kVector = 16 / static_cast<int>(sizeof(T));

__device__ inline float to_f32(float x) {
  return x;
}
__device__ inline float to_f32(Bf16 x) {
  return __bfloat162float(x);
}

template <class T>
__device__ T from_f32(float x);
template <>
__device__ inline float from_f32<float>(float x) {
  return x;
}
template <>
__device__ inline Bf16 from_f32<Bf16>(float x) {
  return __float2bfloat16_rn(x);
}

// Whether a kernel may move whole vectors: if the addresses of its operands, and the distances between their rows, are
// multiples of the vector. This is decided at the launch.
enum class Access { element, vector };

// N elements in registers. A plain union would need constructors for its members, which bf16 has.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

// Loads the first `count` (at most N) of N elements, with zeros for the others.
template <int N, class T>
__device__ inline void load(const T* from, std::int64_t count, Access access, float (&to)[N]) {
  if (access == Access::vector && count >= N) {
    constexpr int kStep = N < kVector<T> ? N : kVector<T>;
    static_assert(N % kStep == 0);
#pragma unroll
    for (int first = 0; first < N; first += kStep) {
      require_aligned(from + first, sizeof(Pack<T, kStep>));
      const auto pack = *reinterpret_cast<const Pack<T, kStep>*>(from + first);
#pragma unroll
      for (int i = 0; i < kStep; ++i) to[first + i] = to_f32(pack.at[i]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = i < count ? to_f32(from[i]) : 0.0F;
}

template <int N, class T>
__device__ inline void store(T* to, std::int64_t count, Access access, const float (&from)[N]) {
  if (access == Access::vector && count >= N) {
    constexpr int kStep = N < kVector<T> ? N : kVector<T>;
    static_assert(N % kStep == 0);
#pragma unroll
    for (int first = 0; first < N; first += kStep) {
      Pack<T, kStep> pack;
#pragma unroll
      for (int i = 0; i < kStep; ++i) pack.at[i] = from_f32<T>(from[first + i]);
      require_aligned(to + first, sizeof(Pack<T, kStep>));
      *reinterpret_cast<Pack<T, kStep>*>(to + first) = pack;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < count) to[i] = from_f32<T>(from[i]);
  }
}

// A small operand (weights of a norm) of either type; absent if `data` is null.
struct Parameter {
  const void* data = nullptr;
  bool is_bf16 = false;
};

template <int N>
__device__ inline void load(const Parameter& from, std::int64_t first, std::int64_t count, Access access,
                            float (&to)[N]) {
  if (from.is_bf16) {
    load(static_cast<const Bf16*>(from.data) + first, count, access, to);
  } else {
    load(static_cast<const float*>(from.data) + first, count, access, to);
  }
}

inline Parameter parameter(const TensorView& t) {
  return {t.defined() ? t.data : nullptr, t.dtype == DType::bf16};
}

// `width` is that of the rows, or of a flat operand whose only row begins at its address.
inline Access access_of(std::initializer_list<const void*> operands, std::int64_t width, int vector) {
  for (const void* operand : operands) {
    if (reinterpret_cast<std::uintptr_t>(operand) % 16 != 0) return Access::element;
  }
  return width % vector == 0 ? Access::vector : Access::element;
}

// Calls f.operator()<kAccess>().
template <class F>
void with_access(Access access, F&& f) {
  if (access == Access::vector) return f.template operator()<Access::vector>();
  f.template operator()<Access::element>();
}

// Calls f.operator()<T>() with the kernels' type for a floating point dtype.
template <class F>
void with_element_type(DType dtype, F&& f) {
  if (dtype == DType::f32) return f.template operator()<float>();
  if (dtype == DType::bf16) return f.template operator()<Bf16>();
  throw LogicFault("the cuda kernels compute on f32 and bf16; found " + std::string(dtype_name(dtype)));
}

}  // namespace perfbench::engine::cuda
