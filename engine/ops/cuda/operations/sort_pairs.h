// A stable sort on the device, by CUB; separate from the kernels, because CUB's headers need nvcc.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

#include "engine/core/error.h"

namespace perfbench::engine::cuda {

// Two buffers of `count` elements each for keys and values; the input is in the first, the result in either.
struct SortPairs {
  std::uint32_t* keys[2];
  std::int32_t* values[2];
  std::int64_t count;
  int key_bits;  // keys are below 2^key_bits
  void* scratch;
  std::int64_t scratch_bytes;
};

struct SortedPairs {
  const std::uint32_t* keys;
  const std::int32_t* values;
};

inline void require_scratch(const SortPairs& pairs, std::int64_t needed_bytes) {
  if (needed_bytes <= pairs.scratch_bytes) return;
  throw LogicFault("sorting " + std::to_string(pairs.count) + " tokens takes " + std::to_string(needed_bytes) +
                   " bytes of scratch, engine/ops/workspace.h plans " + std::to_string(pairs.scratch_bytes));
}

// Throws LogicFault if `scratch` is too small.
SortedPairs sort_pairs(const SortPairs& pairs, cudaStream_t stream);

}  // namespace perfbench::engine::cuda
