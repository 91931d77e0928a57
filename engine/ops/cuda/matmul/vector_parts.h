// Products of bf16 whose extents along rows are no whole vectors, as logits of 50257 tokens: on such a product tensor
// cores are several times slower (ci/bench/README.md), even where every row begins at a whole vector. Plain C++: tested
// without a GPU.
#pragma once

#include <optional>

#include "engine/ops/cuda/matmul/product.h"

namespace perfbench::engine::cuda {

// Computed one after the other they are the product: of its columns, of its rows, or of the terms of its sums, which
// are then added to, those that fill vectors of 16 bytes, and the few that are left.
struct VectorParts {
  Product whole;
  Product rest;
};

// Of smaller products a second launch takes longer than it saves.
inline constexpr double kLeastDividedFlops = 1 << 30;

// Nothing where it is of no use: every extent along rows is whole, rows do not begin at vectors, the product is small,
// a batch, not of bf16, or has a bias or an epilogue. `whole` may have another extent to divide.
std::optional<VectorParts> vector_parts(const Product& product, double least_flops = kLeastDividedFlops);

}  // namespace perfbench::engine::cuda
