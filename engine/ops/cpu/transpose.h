// Transposes a square of registers.
#pragma once

#include <utility>

#include "engine/ops/cpu/vector.h"

namespace perfbench::engine::cpu {

namespace transpose_detail {

// The lanes [first, first + kLanes/2) of x and y, interleaved.
template <int kFirst, std::size_t... kLane>
Vec interleave(Vec x, Vec y, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(x, y, (static_cast<int>(kLane) / 2 + kFirst + (kLane % 2 == 0 ? 0 : kLanes))...);
}

}  // namespace transpose_detail

// rows[i][j] becomes rows[j][i]. Interleaving the upper half of the rows with the lower moves one bit of the row index
// to the lane index; log2(kLanes) repetitions move all of them.
inline void transpose(Vec (&rows)[kLanes]) {
  constexpr auto kIndices = std::make_index_sequence<kLanes>{};
  constexpr int kHalf = kLanes / 2;
#pragma GCC unroll 4
  for (std::int64_t moved = 1; moved < kLanes; moved *= 2) {
    Vec next[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kHalf; ++i) {
      next[2 * i] = transpose_detail::interleave<0>(rows[i], rows[i + kHalf], kIndices);
      next[2 * i + 1] = transpose_detail::interleave<kHalf>(rows[i], rows[i + kHalf], kIndices);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
}

}  // namespace perfbench::engine::cpu
