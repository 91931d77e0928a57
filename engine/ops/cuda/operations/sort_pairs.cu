#include <cub/device/device_radix_sort.cuh>

#include "engine/cuda/cuda_error.h"
#include "engine/ops/cuda/operations/sort_pairs.h"

namespace perfbench::engine::cuda {

SortedPairs sort_pairs(const SortPairs& pairs, cudaStream_t stream) {
  cub::DoubleBuffer<std::uint32_t> keys(pairs.keys[0], pairs.keys[1]);
  cub::DoubleBuffer<std::int32_t> values(pairs.values[0], pairs.values[1]);
  const auto sort = [&](void* scratch, std::size_t& bytes) {
    cuda_check(cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, pairs.count, 0, pairs.key_bits, stream),
               "cub::DeviceRadixSort::SortPairs");
  };
  std::size_t needed = 0;
  sort(nullptr, needed);
  require_scratch(pairs, static_cast<std::int64_t>(needed));
  auto given = static_cast<std::size_t>(pairs.scratch_bytes);
  sort(pairs.scratch, given);
  return {keys.Current(), values.Current()};
}

}  // namespace perfbench::engine::cuda
