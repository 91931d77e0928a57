// Decides whether a GPU run keeps its bf16 weights (spec::Bf16Weights) where the matrix leaves that open. Kept weights
// save two casts of every weight in each microbatch and do not change any bit of the result, but they take 2 bytes for
// each parameter. So a plan first counts the run with kept weights, and uses them if they fit.
#pragma once

#include <cstdint>

#include "harness/matrix/matrix.h"

namespace perfbench::harness {

// Only runs that train on a GPU in bf16 or fp8, with rounding to nearest, have the choice.
bool may_keep_bf16_weights(const Cell& cell);

// The part of a device that kept weights may fill. The rest is for memory that no plan counts: the CUDA context,
// libraries and their kernels, and fragments of other processes.
constexpr std::int64_t room_for_kept_weights(std::int64_t device_bytes) {
  return device_bytes - device_bytes / 16;
}

// Sets the run to keep its weights, and updates its id.
void keep_bf16_weights(Cell& cell);

void cast_bf16_weights(Cell& cell);  // Undoes keep_bf16_weights.

}  // namespace perfbench::harness
