// Whether a GPU run keeps its bf16 weights (spec::Bf16Weights) where the matrix leaves that open. Kept weights save two
// casts of every weight in each microbatch and change no bit of the result, but they take 2 bytes a parameter. So a
// plan counts the run with kept weights first, and takes them where they fit.
#pragma once

#include <cstdint>

#include "harness/matrix/matrix.h"

namespace perfbench::harness {

// Only runs that train on a GPU in bf16 or fp8, rounding to nearest, have the choice.
bool may_keep_bf16_weights(const Cell& cell);

// What kept weights may fill of a device. The rest is for what no plan counts: the CUDA context, libraries and their
// kernels, and fragments of other processes.
constexpr std::int64_t room_for_kept_weights(std::int64_t device_bytes) {
  return device_bytes - device_bytes / 16;
}

// Gives the run its kept weights and the id that it has with them.
void keep_bf16_weights(Cell& cell);

void cast_bf16_weights(Cell& cell);  // the opposite

}  // namespace perfbench::harness
