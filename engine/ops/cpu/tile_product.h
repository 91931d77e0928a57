// Small matrix products on operands in cache: the core of attention and of our own sgemm. A block of c stays in
// registers while k runs.
#pragma once

#include <algorithm>

#include "engine/ops/cpu/vector.h"
#include "engine/ops/ops.h"

namespace perfbench::engine::cpu {

#if defined(__AVX512F__)
inline constexpr int kTileRows = 12;  // 12 x 2 accumulators + 2 vectors of b, in 32 registers
#elif defined(__AVX__)
inline constexpr int kTileRows = 6;  // the same for 16 registers
#else
inline constexpr int kTileRows = 4;
#endif
inline constexpr int kTileVectors = 2;
inline constexpr std::int64_t kTileColumns = kTileVectors * kLanes;

// Where element (i, k) of a is: i * stride + k, or k * stride + i.
enum class TileLayout { row_major, column_major };

// c[m, n] (+)= a[m, k] b[k, n]. Strides in elements; n is a multiple of kLanes.
struct TileProduct {
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

namespace tile_product_detail {

template <int kRows, int kVectors, TileLayout kLayout, Write kWrite>
inline void block(const TileProduct& p, std::int64_t row, std::int64_t column) {
  const float* a = kLayout == TileLayout::row_major ? p.a + row * p.a_stride : p.a + row;
  const float* b = p.b + column;
  float* const c = p.c + row * p.c_stride + column;
  const std::int64_t a_stride = p.a_stride;
  const std::int64_t b_stride = p.b_stride;
  Vec sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sum[i][v] = kWrite == Write::accumulate ? load(c + i * p.c_stride + v * kLanes) : Vec{};
    }
  }
  for (std::int64_t k = p.k; k > 0; --k) {
    Vec b_row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) b_row[v] = load(b + v * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vec a_element = splat(kLayout == TileLayout::row_major ? a[i * a_stride] : a[i]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[i][v] += a_element * b_row[v];
    }
    a += kLayout == TileLayout::row_major ? 1 : a_stride;
    b += b_stride;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(c + i * p.c_stride + v * kLanes, sum[i][v]);
  }
}

// The last rows: there are m - row of them, at most kRows.
template <int kRows, int kVectors, TileLayout kLayout, Write kWrite>
inline void last_rows(const TileProduct& p, std::int64_t row, std::int64_t column) {
  if constexpr (kRows > 0) {
    if (p.m - row == kRows) {
      block<kRows, kVectors, kLayout, kWrite>(p, row, column);
    } else {
      last_rows<kRows - 1, kVectors, kLayout, kWrite>(p, row, column);
    }
  }
}

template <int kVectors, TileLayout kLayout, Write kWrite>
inline void panel(const TileProduct& p, std::int64_t column) {
  std::int64_t row = 0;
  for (; row + kTileRows <= p.m; row += kTileRows) block<kTileRows, kVectors, kLayout, kWrite>(p, row, column);
  last_rows<kTileRows - 1, kVectors, kLayout, kWrite>(p, row, column);
}

}  // namespace tile_product_detail

template <TileLayout kLayout, Write kWrite>
[[gnu::noinline]] void tile_product(const TileProduct& p) {
  std::int64_t column = 0;
  for (; column + kTileColumns <= p.n; column += kTileColumns) {
    tile_product_detail::panel<kTileVectors, kLayout, kWrite>(p, column);
  }
  for (; column < p.n; column += kLanes) tile_product_detail::panel<1, kLayout, kWrite>(p, column);
}

}  // namespace perfbench::engine::cpu
