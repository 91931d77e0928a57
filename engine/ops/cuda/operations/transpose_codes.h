// The transpose of a matrix of 8-bit numbers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "engine/core/rows_view.h"

namespace perfbench::engine::cuda {

// out[columns, rows], dense, from in[rows, columns].
void transpose_codes(void* out, const RowsView& in, cudaStream_t stream);

}  // namespace perfbench::engine::cuda
