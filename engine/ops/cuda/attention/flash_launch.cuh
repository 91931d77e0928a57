// Launches the kernels of our own flash attention from the host.
#pragma once

#include <cstdint>
#include <numeric>

#include "engine/core/error.h"
#include "engine/ops/cuda/attention/flash_tiles.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"

namespace perfbench::engine::cuda {

inline FlashProblem flash_problem(const AttentionDims& dims, std::initializer_list<RowsView> operands) {
  bool multiples = true;
  for (const auto& x : operands) {
    const auto step_bytes = std::gcd(dims.head_dim, x.stride) * size_bytes(x.dtype);
    multiples = multiples && reinterpret_cast<std::uintptr_t>(x.data) % kCopyBytes == 0 && step_bytes % kCopyBytes == 0;
  }
  return {dims, multiples ? Addresses::multiples_of_16 : Addresses::any};
}

// Calls f.operator()<Units, kWidth>() with the units that compute `dtype` and the tile width for `head_dim`.
template <class F>
void with_tile_width(std::int64_t head_dim, DType dtype, F&& f) {
  const auto with_units = [&]<class Units>() {
    if (head_dim <= 64) return f.template operator()<Units, 64>();
    if (head_dim <= 128) return f.template operator()<Units, 128>();
    if (head_dim <= kMostFlashHeadDim) return f.template operator()<Units, kMostFlashHeadDim>();
    throw EngineError(EngineExit::infeasible, "flash attention computes a head_dim of at most " +
                                                  std::to_string(kMostFlashHeadDim) + ", found " +
                                                  std::to_string(head_dim) + "; attention dot_product takes any");
  };
  if (dtype == DType::bf16) return with_units.template operator()<TensorCores>();
  return with_units.template operator()<PlainFma>();
}

inline unsigned tiles_of(std::int64_t seq_len, int tile) {
  return static_cast<unsigned>(divide_up(seq_len, tile));
}

}  // namespace perfbench::engine::cuda
