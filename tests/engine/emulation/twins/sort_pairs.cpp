// The twin of engine/ops/cuda/operations/sort_pairs.cu for builds without CUB.
#include "engine/ops/cuda/operations/sort_pairs.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/ops/cuda/device/launch.cuh"

namespace perfbench::engine::cuda {
namespace {

// The most that CUB may request (cub/device/dispatch/dispatch_radix_sort.cuh, InvokeOnesweep): counts of each of 256
// digits, with 8 bytes for each of a key's four bytes, and 4 bytes for each tile of at least 1024 keys.
std::int64_t needed_bytes(std::int64_t count) {
  constexpr std::int64_t kDigits = 256;
  constexpr std::int64_t kTileKeys = 1024;
  return 4 * kDigits * 8 + (count + kTileKeys - 1) / kTileKeys * kDigits * 4;
}

// Writes to all of the scratch memory, so that a forbidden overlap shows.
__global__ void sort_kernel(SortPairs pairs) {
  std::memset(pairs.scratch, 0xFF, static_cast<std::size_t>(pairs.scratch_bytes));
  const auto n = static_cast<std::size_t>(pairs.count);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::uint32_t mask = pairs.key_bits == 32 ? 0xFFFFFFFFU : (1U << pairs.key_bits) - 1;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return (pairs.keys[0][a] & mask) < (pairs.keys[0][b] & mask); });
  for (std::size_t i = 0; i < n; ++i) {
    pairs.keys[1][i] = pairs.keys[0][order[i]];
    pairs.values[1][i] = pairs.values[0][order[i]];
  }
}

}  // namespace

SortedPairs sort_pairs(const SortPairs& pairs, cudaStream_t stream) {
  require_scratch(pairs, needed_bytes(pairs.count));
  launch("sort_pairs", sort_kernel, {.grid = 1, .block = 1, .stream = stream}, pairs);
  return {pairs.keys[1], pairs.values[1]};
}

}  // namespace perfbench::engine::cuda
