// Shapes that the tests of matrix products share.
#pragma once

#include "tests/engine/oracle/products.h"

namespace perfbench::engine {

inline constexpr Transpose kBoth[] = {Transpose::no, Transpose::yes};
// Odd sizes, vectors, edges of register tiles and of cache blocks.
inline constexpr oracle::ProductSize kSizes[] = {{1, 1, 1},    {1, 33, 7},   {5, 3, 129},   {12, 32, 64},
                                                 {13, 31, 65}, {65, 1, 300}, {30, 40, 270}, {193, 520, 9}};

inline Shape stored(std::int64_t rows, std::int64_t columns, Transpose transpose) {
  return transpose == Transpose::yes ? Shape{columns, rows} : Shape{rows, columns};
}

}  // namespace perfbench::engine
