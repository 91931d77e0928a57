// The second half of a sum down the columns of [N, width]: adds the partial sums of groups of rows.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

struct ColumnSums {
  float* out;            // [width]
  const float* partial;  // [groups, stride], the first `width` of each row
  std::int64_t groups;
  std::int64_t stride;
  std::int64_t width;
  Write write;
};

// out (+)= sum over groups, in an order fixed by their number.
void sum_groups(const ColumnSums& sums, cudaStream_t stream);

}  // namespace perfbench::engine::cuda
