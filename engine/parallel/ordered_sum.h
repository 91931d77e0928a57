// The one sum of all collectives between hosts (NCCL has its own order): by index of the ranks, first to last, so that
// its bits are the same on every rank, in every repetition and by every transport.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace perfbench::engine {

// out[i] = sources[0][i] + sources[1][i] + ... ; out may be one of the sources.
template <class T>
void ordered_sum(T* out, std::span<const T* const> sources, std::int64_t elements) {
  constexpr std::int64_t kBlock = 1024;  // stays in the first-level cache; a local array, so the loops vectorise
  alignas(64) std::array<T, kBlock> sum;
  for (std::int64_t at = 0; at < elements; at += kBlock) {
    const std::int64_t count = std::min(kBlock, elements - at);
    std::copy_n(sources[0] + at, count, sum.data());
    for (const T* source : sources.subspan(1)) {
      const T* term = source + at;
      for (std::int64_t i = 0; i < count; ++i) sum[static_cast<std::size_t>(i)] += term[i];
    }
    std::copy_n(sum.data(), count, out + at);
  }
}

}  // namespace perfbench::engine
