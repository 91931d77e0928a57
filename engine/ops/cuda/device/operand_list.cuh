// Several flat operands in one launch, passed as a kernel parameter. Each has its own blocks, as many as it would have
// alone, so its results do not depend on the other operands.
#pragma once

#include <algorithm>
#include <span>

#include "engine/ops/cuda/device/flat.cuh"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {

template <class Operand>
struct OperandList {
  static constexpr int kMost = workspace::kListedOperands;
  Operand operands[kMost];
  unsigned ends[kMost];  // for each operand the end of its blocks
  int count = 0;

  unsigned blocks() const { return count == 0 ? 0 : ends[count - 1]; }
  void add(const Operand& operand, unsigned blocks_of_it) {
    const unsigned end = blocks() + blocks_of_it;
    operands[count] = operand;
    ends[count] = end;
    ++count;
  }
};

// Calls f(part) for groups of tensors, in order, each as large as a list holds.
template <class Tensor, class F>
void in_lists(std::span<const Tensor> tensors, F f) {
  while (!tensors.empty()) {
    const auto part = std::min<std::size_t>(tensors.size(), workspace::kListedOperands);
    f(tensors.first(part));
    tensors = tensors.subspan(part);
  }
}

struct OperandBlock {
  int operand;
  unsigned block;  // counted from the operand's first block
  unsigned blocks;
};

template <class Operand>
__device__ inline OperandBlock operand_of_block(const OperandList<Operand>& list) {
  int low = 0;
  for (int high = list.count - 1; low < high;) {
    const int middle = (low + high) / 2;
    if (blockIdx.x < list.ends[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const unsigned first = low == 0 ? 0 : list.ends[low - 1];
  return {low, blockIdx.x - first, list.ends[low] - first};
}

}  // namespace perfbench::engine::cuda
