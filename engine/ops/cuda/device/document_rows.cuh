// Positions of tokens in rows that may hold several documents (engine/ops/ops.h).
#pragma once

#include <cstdint>

#include "engine/core/tensor.h"
#include "engine/ops/cuda/device/launch.cuh"

namespace perfbench::engine::cuda {

struct DocumentRows {
  const std::int32_t* first_N;  // null if each row is one document
  std::int64_t seq_len;

  // The place within its row at which the document of token `row`, counted over all rows, begins.
  __device__ std::int64_t first(std::int64_t row) const { return first_N == nullptr ? 0 : first_N[row]; }
  // The position in its document.
  __device__ std::int64_t position(std::int64_t row) const { return row % seq_len - first(row); }
};

inline DocumentRows document_rows(const TensorView& first_N, std::int64_t seq_len) {
  return {first_N.as<const std::int32_t>(), seq_len};
}

}  // namespace perfbench::engine::cuda
