// Shapes shared by the tests of matrix products.
#pragma once

#include <cmath>

#include "tests/engine/ops_under_test.h"
#include "tests/engine/oracle/products.h"

namespace perfbench::engine {

inline constexpr Transpose kBoth[] = {Transpose::no, Transpose::yes};
// Odd sizes, whole vectors, and the edges of register tiles and of cache blocks.
inline constexpr oracle::ProductSize kSizes[] = {{1, 1, 1},    {1, 33, 7},   {5, 3, 129},   {12, 32, 64},
                                                 {13, 31, 65}, {65, 1, 300}, {30, 40, 270}, {193, 520, 9}};

// The possible error of a product that is rounded before something is added to it: half a unit of the product.
inline double rounding_before_adding(DType result, double product) {
  return result == DType::bf16 && rounds_before_adding() ? oracle::kUnitBf16 * std::abs(product) : 0.0;
}

inline Shape stored(std::int64_t rows, std::int64_t columns, Transpose transpose) {
  return transpose == Transpose::yes ? Shape{columns, rows} : Shape{rows, columns};
}

}  // namespace perfbench::engine
