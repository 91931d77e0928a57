// The sum that all collectives between hosts use (NCCL has its own order). It adds by index of the ranks, first to
// last, so that the bits are the same on every rank, in every repetition and over every transport. Sums of bf16 are
// computed in f32 and rounded once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "engine/core/bf16.h"

namespace perfbench::engine {

// out[i] = sources[0][i] + sources[1][i] + ... ; out may be one of the sources.
template <class T>
void ordered_sum(T* out, std::span<const T* const> sources, std::int64_t elements) {
  constexpr std::int64_t kBlock = 1024;  // fits the first-level cache; a local array, so that the loops vectorise
  constexpr bool kRounds = std::is_same_v<T, Bf16>;
  using Sum = std::conditional_t<kRounds, float, T>;
  const auto read = [](T x) {
    if constexpr (kRounds) {
      return to_f32(x);
    } else {
      return x;
    }
  };
  const auto rounded = [](Sum x) {
    if constexpr (kRounds) {
      return to_bf16(x);
    } else {
      return x;
    }
  };
  alignas(64) std::array<Sum, kBlock> sum;
  for (std::int64_t at = 0; at < elements; at += kBlock) {
    const std::int64_t count = std::min(kBlock, elements - at);
    std::transform(sources[0] + at, sources[0] + at + count, sum.data(), read);
    for (const T* source : sources.subspan(1)) {
      const T* term = source + at;
      for (std::int64_t i = 0; i < count; ++i) sum[static_cast<std::size_t>(i)] += read(term[i]);
    }
    std::transform(sum.data(), sum.data() + count, out + at, rounded);
  }
}

}  // namespace perfbench::engine
