// The values of each row that a norm keeps for its backward pass.
#pragma once

#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/rows.cuh"

namespace perfbench::engine::cuda {

struct NormStatistics {
  float* mean;  // [N], or nullptr for rmsnorm
  float* rstd;  // [N]
};

inline NormStatistics statistics_of(const TensorView& saved, std::int64_t rows, spec::NormKind kind) {
  auto* const first = saved.as<float>();
  return kind == spec::NormKind::layernorm ? NormStatistics{first, first + rows} : NormStatistics{nullptr, first};
}

}  // namespace perfbench::engine::cuda
