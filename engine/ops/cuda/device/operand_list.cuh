// Several flat operands in one launch, as a kernel's parameter. Each has its own blocks, as many as it would have
// alone, so that what is computed of it does not depend on its company.
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
  unsigned ends[kMost];  // the block behind each operand's last
  int count = 0;

  unsigned blocks() const { return count == 0 ? 0 : ends[count - 1]; }
  void add(const Operand& operand, unsigned blocks_of_it) {
    const unsigned end = blocks() + blocks_of_it;
    operands[count] = operand;
    ends[count] = end;
    ++count;
  }
};

// Calls f(part) for as many of the tensors at a time as a list holds, in order.
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
  unsigned block;  // counted from the operand's first
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
