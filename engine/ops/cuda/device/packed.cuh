// 16 bytes of a row in registers, as they are in memory: unpacked bf16 would take twice as many registers.
#pragma once

#include "engine/ops/cuda/device/elements.cuh"

namespace perfbench::engine::cuda {

template <class T>
class Packed {
 public:
  static constexpr int N = kVector<T>;

  // Loads the first `count` elements, with zeros for the others.
  template <Access kAccess>
  __device__ void read(const T* from, std::int64_t count) {
    if constexpr (kAccess == Access::vector) {
      require_aligned(from, sizeof(*this));
      *this = *reinterpret_cast<const Packed*>(from);
    } else {
      float v[N];
      load(from, count, Access::element, v);
      set(v);
    }
  }
  template <Access kAccess>
  __device__ void write(T* to, std::int64_t count) const {
    if constexpr (kAccess == Access::vector) {
      require_aligned(to, sizeof(*this));
      *reinterpret_cast<Packed*>(to) = *this;
    } else {
      float v[N];
      get(v);
      store(to, count, Access::element, v);
    }
  }
  __device__ void get(float (&to)[N]) const {
    if constexpr (N == kWords) {
#pragma unroll
      for (int i = 0; i < kWords; ++i) to[i] = __uint_as_float(words_.at[i]);
    } else {
      // The first of two bf16 is the lower half of a word, and each is the upper half of an f32.
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        to[2 * i] = __uint_as_float(words_.at[i] << 16);
        to[2 * i + 1] = __uint_as_float(words_.at[i] & 0xFFFF0000U);
      }
    }
  }
  __device__ void set(const float (&from)[N]) {
    Pack<T, N> rounded;
#pragma unroll
    for (int i = 0; i < N; ++i) rounded.at[i] = from_f32<T>(from[i]);
    memcpy(&words_, &rounded, sizeof(words_));
  }
  // Hides the values from the compiler, so that it unpacks them again where they are used. Otherwise it keeps them
  // unpacked from one use to the next.
  __device__ void forget() {
#if defined(__CUDACC__)
#pragma unroll
    for (int i = 0; i < kWords; ++i) asm volatile("" : "+r"(words_.at[i]));
#endif
  }

 private:
  static constexpr int kWords = 4;
  static_assert(sizeof(T) * N == sizeof(unsigned) * kWords);
  Pack<unsigned, kWords> words_;
};

}  // namespace perfbench::engine::cuda
