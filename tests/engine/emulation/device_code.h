// Replaces nvcc's built-in variables and functions for a kernel that is compiled as plain C++ (CUDA C++ Programming
// Guide, "C++ Language Extensions").
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "tests/engine/emulation/block.h"

#if !defined(__launch_bounds__)
#define __launch_bounds__(...)
#endif

inline const uint3& threadIdx = perfbench::emulation::place.thread;
inline const uint3& blockIdx = perfbench::emulation::place.block;
inline const dim3& blockDim = perfbench::emulation::place.block_size;
inline const dim3& gridDim = perfbench::emulation::place.grid_size;
inline constexpr int warpSize = 32;

inline void __syncthreads() {
  perfbench::emulation::running_block().synchronise();
}
inline int __syncthreads_count(int predicate) {
  return perfbench::emulation::running_block().synchronise_and_count(predicate);
}
inline int __syncthreads_or(int predicate) {
  return __syncthreads_count(predicate) != 0 ? 1 : 0;
}
inline int __syncthreads_and(int predicate) {
  return __syncthreads_count(predicate == 0 ? 1 : 0) == 0 ? 1 : 0;
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU) {
  perfbench::emulation::running_block().synchronise_warp(mask);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return perfbench::emulation::running_block().ballot(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate == 0 ? 1 : 0) == 0 ? 1 : 0;
}

namespace perfbench::emulation {

template <class T>
T shuffle(unsigned mask, unsigned source, T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Block::Word));
  Block::Word word;
  std::memcpy(word.bytes.data(), &value, sizeof(T));
  const Block::Word got = running_block().exchange(mask, source, word);
  std::memcpy(static_cast<void*>(&value), got.bytes.data(), sizeof(T));
  return value;
}

}  // namespace perfbench::emulation

// `width` divides the warp into segments; a source outside the caller's segment means the caller itself.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  const auto lane = static_cast<int>(perfbench::emulation::Block::lane());
  const int from = lane / width * width + (source & (width - 1));
  return perfbench::emulation::shuffle(mask, static_cast<unsigned>(from), value);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
  const auto lane = static_cast<int>(perfbench::emulation::Block::lane());
  const int from = (lane ^ lanes) / width > lane / width ? lane : lane ^ lanes;
  return perfbench::emulation::shuffle(mask, static_cast<unsigned>(from), value);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const auto lane = static_cast<int>(perfbench::emulation::Block::lane());
  const int from = lane % width + static_cast<int>(delta) < width ? lane + static_cast<int>(delta) : lane;
  return perfbench::emulation::shuffle(mask, static_cast<unsigned>(from), value);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
  const auto lane = static_cast<int>(perfbench::emulation::Block::lane());
  const int from = lane % width - static_cast<int>(delta) >= 0 ? lane - static_cast<int>(delta) : lane;
  return perfbench::emulation::shuffle(mask, static_cast<unsigned>(from), value);
}

// Threads switch only where they wait, so a plain read-modify-write is atomic, and memory is always ordered.
template <class T>
T atomicCAS(T* at, T expected, T desired) {
  const T old = *at;
  if (old == expected) *at = desired;
  return old;
}
template <class T>
T atomicAdd(T* at, T value) {
  static_assert(std::is_integral_v<T>, "the order of a floating point sum would depend on the threads");
  const T old = *at;
  *at = old + value;
  return old;
}
template <class T>
T atomicMin(T* at, T value) {
  const T old = *at;
  if (value < old) *at = value;
  return old;
}
template <class T>
T atomicMax(T* at, T value) {
  const T old = *at;
  if (value > old) *at = value;
  return old;
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

template <class T>
T __ldg(const T* from) {
  return *from;
}

inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline double __longlong_as_double(long long bits) {
  return std::bit_cast<double>(bits);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}

// Byte i of the result is one of the eight bytes of x (0 to 3) and y, selected by hexadecimal digit i of the selector.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t both = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    result |= static_cast<unsigned>(both >> (selector >> (4 * i) & 7U) * 8 & 0xFFU) << (8 * i);
  }
  return result;
}

// Each rounds separately and is never fused.
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}

// cos(pi x): quarters of the circle are subtracted exactly.
inline double cospi(double x) {
  const double quarters = std::nearbyint(2.0 * x);
  const double angle = (x - 0.5 * quarters) * 3.14159265358979323846;
  const auto quadrant = static_cast<long long>(quarters) & 3;
  const double value = (quadrant & 1) != 0 ? std::sin(angle) : std::cos(angle);
  return quadrant == 1 || quadrant == 2 ? -value : value;
}
// Computed in f64, whose own rounding is too fine to affect the result.
inline float __frsqrt_rn(float x) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
}
// On a device its error is up to two units in the last place (CUDA C++ Programming Guide, "Intrinsic Functions").
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float rsqrtf(float x) {
  return 1.0F / std::sqrt(x);
}
inline double rsqrt(double x) {
  return 1.0 / std::sqrt(x);
}
using std::max;
using std::min;
