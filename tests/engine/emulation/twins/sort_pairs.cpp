// The twin of engine/ops/cuda/operations/sort_pairs.cu, where CUB is not.
#include "engine/ops/cuda/operations/sort_pairs.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/ops/cuda/device/launch.cuh"

namespace perfbench::engine::cuda {
namespace {

__global__ void sort_kernel(SortPairs pairs) {
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
  launch("sort_pairs", sort_kernel, {.grid = 1, .block = 1, .stream = stream}, pairs);
  return {pairs.keys[1], pairs.values[1]};
}

}  // namespace perfbench::engine::cuda
