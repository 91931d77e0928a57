// One register of floats, using the compiler's vector extension. The lanes of a reduction are stated here rather than
// chosen by the auto-vectoriser, so that its bits depend neither on alignment nor on inlining.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "engine/ops/cpu/element_type.h"

namespace perfbench::engine::cpu {

#if defined(__AVX512F__)
inline constexpr std::int64_t kLanes = 16;
#elif defined(__AVX__)
inline constexpr std::int64_t kLanes = 8;
#else
inline constexpr std::int64_t kLanes = 4;
#endif

constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

typedef float Vec __attribute__((vector_size(kLanes * 4)));
typedef std::int32_t IntVec __attribute__((vector_size(kLanes * 4)));
typedef std::uint32_t UintVec __attribute__((vector_size(kLanes * 4)));
typedef std::uint16_t HalfVec __attribute__((vector_size(kLanes * 2)));

inline Vec splat(float x) {
  return x - Vec{};  // x - 0 is x for every x, including -0 and NaN
}

inline Vec load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline Vec load(const Bf16* p) {
  HalfVec half;
  std::memcpy(&half, p, sizeof half);
  return reinterpret_cast<Vec>(__builtin_convertvector(half, UintVec) << 16);
}

inline void store(float* p, Vec v) {
  std::memcpy(p, &v, sizeof v);
}
// Rounds every lane as from_f32<Bf16> does.
inline void store(Bf16* p, Vec v) {
  const auto bits = reinterpret_cast<UintVec>(v);
  const UintVec rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  const UintVec chosen = v != v ? bits | 0x400000U : rounded;
  const HalfVec half = __builtin_convertvector(chosen >> 16, HalfVec);
  std::memcpy(static_cast<void*>(p), &half, sizeof half);
}

// The first `count` < kLanes elements; other lanes are loaded as zero and not stored.
template <class T>
Vec load_part(const T* p, std::int64_t count) {
  T padded[kLanes] = {};
  std::memcpy(static_cast<void*>(padded), p, static_cast<std::size_t>(count) * sizeof(T));
  return load(padded);
}
template <class T>
void store_part(T* p, Vec v, std::int64_t count) {
  T padded[kLanes];
  store(padded, v);
  std::memcpy(static_cast<void*>(p), padded, static_cast<std::size_t>(count) * sizeof(T));
}

// `if_true` where the lane of `mask` is -1, `if_false` where it is 0.
inline Vec select(IntVec mask, Vec if_true, Vec if_false) {
  return mask ? if_true : if_false;
}
// A NaN in x is dropped (the comparison is false); if it must survive, later arithmetic on x carries it.
inline Vec max(Vec x, Vec y) {
  return select(x > y, x, y);
}

namespace vector_detail {

// Lane i becomes lane i + width of v; lanes from width on are unspecified.
template <int kWidth, std::size_t... kLane>
Vec upper_half(Vec v, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(v, v, ((static_cast<int>(kLane) + kWidth) % static_cast<int>(kLanes))...);
}
// Combines all lanes by folding the upper half onto the lower until one is left: a fixed order.
template <int kWidth, class Combine>
float fold(Vec v, Combine combine) {
  if constexpr (kWidth == 0) {
    return v[0];
  } else {
    return fold<kWidth / 2>(combine(v, upper_half<kWidth>(v, std::make_index_sequence<kLanes>{})), combine);
  }
}

}  // namespace vector_detail

inline float sum_lanes(Vec v) {
  return vector_detail::fold<kLanes / 2>(v, [](Vec x, Vec y) { return x + y; });
}
inline float max_lanes(Vec v) {
  return vector_detail::fold<kLanes / 2>(v, [](Vec x, Vec y) { return max(x, y); });
}

// Calls f(index, count) over [0, n) in steps of kLanes; count < kLanes in the last step only.
template <class Full, class Part>
void for_vectors(std::int64_t n, Full&& full, Part&& part) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) full(i);
  if (i < n) part(i, n - i);
}

}  // namespace perfbench::engine::cpu
