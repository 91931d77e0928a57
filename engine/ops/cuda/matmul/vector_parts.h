// Divides products of bf16 whose extents along rows are not whole vectors, such as logits of 50257 tokens: for such a
// product tensor cores are several times slower (ci/bench/README.md), even if every row begins at a whole vector. Plain
// C++, tested without a GPU.
#pragma once

#include <optional>

#include "engine/ops/cuda/matmul/product.h"

namespace perfbench::engine::cuda {

// Computed one after the other, the two parts give the product. They divide its columns, its rows, or the terms of its
// sums (which are then added to): `whole` fills vectors of 16 bytes, and the other part has the few that are left.
struct VectorParts {
  Product whole;
  Product rest;
};

// For smaller products a second launch takes longer than it saves.
inline constexpr double kLeastDividedFlops = 1 << 30;

// Absent if it would be of no use: if every extent along rows is whole, if rows do not begin at vectors, or if the
// product is small, a batch, not bf16, or has a bias or an epilogue. `whole` may have another extent to divide.
std::optional<VectorParts> vector_parts(const Product& product, double least_flops = kLeastDividedFlops);

}  // namespace perfbench::engine::cuda
