// The number of blocks and threads: plain functions of the extents, so that their limits can be tested without a
// device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "workloads/spec/divide_up.h"

namespace perfbench::engine::cuda {

using spec::divide_up;

// The largest extent of a grid: in x, and in y and z.
inline constexpr std::int64_t kMostBlocksX = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t kMostBlocksYZ = 65535;

// For kernels over elements: threads stride by the whole grid until all vectors are done.
inline constexpr unsigned kFlatThreads = 256;
constexpr unsigned flat_blocks(std::int64_t elements, int vector) {
  // Enough to fill any device several times over, and few enough to launch quickly.
  constexpr std::int64_t kMost = 8192;
  return static_cast<unsigned>(
      std::clamp<std::int64_t>(divide_up(divide_up(elements, vector), kFlatThreads), 1, kMost));
}

// For kernels with one block per row; blocks stride by the whole grid.
constexpr unsigned row_blocks(std::int64_t rows) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(rows, 1, kMostBlocksX));
}
// Whole warps whose threads take `per_thread` elements of a row each, up to `most`.
constexpr unsigned row_threads(std::int64_t width, std::int64_t per_thread, std::int64_t most = 1024) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(divide_up(divide_up(width, per_thread), 32) * 32, 32, most));
}

}  // namespace perfbench::engine::cuda
