// Shared by the two attentions: heads packed into contiguous f32 tiles, and the causal mask of a tile.
//
// A unit of work is one key/value head of one sequence with all query heads that read it, so one thread sums a query
// head's gradient of key and value in a fixed order. If there are fewer units than threads, they are divided by rows.
#pragma once

#include "engine/ops/cpu/document_rows.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"
#include "engine/ops/cpu/scratch.h"
#include "engine/ops/cpu/tile_product.h"
#include "engine/ops/cpu/transpose.h"
#include "engine/ops/ops.h"

namespace perfbench::engine::cpu {

void flash_forward(const AttentionForwardArgs& args, Scratch& scratch);
void flash_backward(const AttentionBackwardArgs& args, Scratch& scratch);
void dot_product_forward(const AttentionForwardArgs& args, Scratch& scratch);
void dot_product_backward(const AttentionBackwardArgs& args, Scratch& scratch);

// A head's columns within [N, heads*D], for the rows of one sequence. The distance of rows may exceed their width.
template <class T>
struct HeadRows {
  T* data = nullptr;  // row 0
  std::int64_t stride = 0;

  T* row(std::int64_t t) const { return data + t * stride; }
};

template <class T>
HeadRows<T> head_rows(const RowsView& x, const AttentionDims& dims, std::int64_t batch, std::int64_t head) {
  return {x.as<T>() + batch * dims.seq_len * x.stride + head * dims.head_dim, x.stride};
}

// Widths of packed tiles: head_dim padded to whole registers.
inline std::int64_t padded_head(const AttentionDims& dims) {
  return round_up(dims.head_dim, kLanes);
}

struct PackedShape {
  std::int64_t rows;      // rows that exist in the source
  std::int64_t width;     // D
  std::int64_t to_width;  // width of the packed rows, at least D
};

// Packs to [rows][to_width] times `factor`, with zeros behind D.
template <class T>
void pack_rows(HeadRows<const T> from, PackedShape shape, float factor, float* to) {
  // Rows are about a page apart, which the hardware's prefetcher does not follow.
  constexpr std::int64_t kAhead = 8;
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (std::int64_t r = 0; r < shape.rows; ++r, to += shape.to_width) {
    const T* const row = from.row(r);
    for (std::int64_t i = 0; i < shape.width; i += kLine) __builtin_prefetch(row + kAhead * from.stride + i);
    for (std::int64_t i = 0; i < shape.to_width; i += kLanes) {
      const std::int64_t count = std::clamp<std::int64_t>(shape.width - i, 0, kLanes);
      store(to + i, count == 0 ? Vec{} : load_up_to(row + i, count) * factor);
    }
  }
}

// Packs transposed, a tile at a time: [tiles][D][tile], with zeros behind the last row. A tile's rows are adjacent, so
// a product reads them without power-of-two strides, which would use few sets of the cache.
template <class T>
void pack_columns(HeadRows<const T> from, PackedShape shape, std::int64_t tile, float* to) {
  for (std::int64_t first = 0; first < shape.rows; first += tile, to += shape.width * tile) {
    for (std::int64_t k = 0; k < tile; k += kLanes) {
      const std::int64_t present = std::clamp<std::int64_t>(shape.rows - first - k, 0, kLanes);
      for (std::int64_t d = 0; d < shape.width; d += kLanes) {
        const std::int64_t count = std::min(kLanes, shape.width - d);
        Vec block[kLanes];
        for (int i = 0; i < kLanes; ++i) {
          block[i] = i < present ? load_up_to(from.row(first + k + i) + d, count) : Vec{};
        }
        transpose(block);
        for (int i = 0; i < count; ++i) store(to + (d + i) * tile + k, block[i]);
      }
    }
  }
}

template <class T>
void unpack_rows(const float* from, PackedShape shape, float factor, HeadRows<T> to) {
  for (std::int64_t r = 0; r < shape.rows; ++r, from += shape.to_width) {
    T* const row = to.row(r);
    for (std::int64_t i = 0; i < shape.width; i += kLanes) {
      store_up_to(row + i, load(from + i) * factor, std::min(kLanes, shape.width - i));
    }
  }
}

// The rows [row, row + rows) of the scores against the keys [key, key + keys).
struct ScoreTile {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t key = 0;
  std::int64_t keys = 0;
  const std::int32_t* first_T = nullptr;  // where the documents of the sequence's queries begin, or null

  // The number of keys of the tile that are not after query `row + r`.
  std::int64_t visible(std::int64_t r) const { return std::clamp<std::int64_t>(row + r + 1 - key, 0, keys); }
  // The number of keys among them that it may not see, because they belong to earlier documents.
  std::int64_t hidden(std::int64_t r) const {
    return first_T == nullptr ? 0 : std::clamp<std::int64_t>(first_T[row + r] - key, 0, keys);
  }
  // If so for the first query, then for all later ones, because documents lie one behind the other.
  bool all_hidden() const { return hidden(0) == keys; }
  // The distance from query `row + r` back to the first key.
  std::int64_t distance(std::int64_t r) const { return row + r - key; }
  // The first row that sees any key of the tile.
  std::int64_t first_row() const { return std::clamp<std::int64_t>(key - row, 0, rows); }
  bool masked() const { return visible(0) < keys; }
};

// The first tile of keys that the queries from `row` on see.
inline std::int64_t first_key_tile(const std::int32_t* first_T, std::int64_t row, std::int64_t tile) {
  return first_T == nullptr ? 0 : first_T[row] / tile * tile;
}

// Rows that share the bounds of a product on a masked tile.
inline constexpr std::int64_t kMaskRows = kTileRows;

// scores[rows, keys] = a[rows, D] b[D, keys], only for visible keys, rounded up to whole registers.
inline void score_product(const ScoreTile& tile, TileProduct product) {
  if (!tile.masked()) {
    product.m = tile.rows;
    product.n = tile.keys;
    return tile_product<TileLayout::row_major, Write::overwrite>(product);
  }
  for (std::int64_t r = tile.first_row(); r < tile.rows; r += kMaskRows) {
    TileProduct part = product;
    part.m = std::min(kMaskRows, tile.rows - r);
    part.n = round_up(tile.visible(r + part.m - 1), kLanes);
    part.a += r * part.a_stride;
    part.c += r * part.c_stride;
    tile_product<TileLayout::row_major, Write::overwrite>(part);
  }
}

// out[rows, D] += scores[rows, keys] b[keys, D]. Masked scores within a group of rows are zero.
inline void value_product(const ScoreTile& tile, TileProduct product) {
  if (!tile.masked()) {
    product.m = tile.rows;
    product.k = tile.keys;
    return tile_product<TileLayout::row_major, Write::accumulate>(product);
  }
  for (std::int64_t r = tile.first_row(); r < tile.rows; r += kMaskRows) {
    TileProduct part = product;
    part.m = std::min(kMaskRows, tile.rows - r);
    part.k = tile.visible(r + part.m - 1);
    part.a += r * part.a_stride;
    part.c += r * part.c_stride;
    tile_product<TileLayout::row_major, Write::accumulate>(part);
  }
}

// out[keys, D] += scores[rows, keys]^T b[rows, D], for the first `keys_present` keys. Masked scores are zero.
inline void key_product(const ScoreTile& tile, std::int64_t keys_present, TileProduct product) {
  if (!tile.masked()) {
    product.m = keys_present;
    product.k = tile.rows;
    return tile_product<TileLayout::column_major, Write::accumulate>(product);
  }
  for (std::int64_t key = 0; key < keys_present; key += kMaskRows) {
    const std::int64_t first = std::clamp<std::int64_t>(tile.key + key - tile.row, 0, tile.rows);
    TileProduct part = product;
    part.m = std::min(kMaskRows, keys_present - key);
    part.k = tile.rows - first;
    part.a += first * part.a_stride + key;
    part.b += first * part.b_stride;
    part.c += key * part.c_stride;
    tile_product<TileLayout::column_major, Write::accumulate>(part);
  }
}

// A head's row in a table by distance, [.., H, T] f32; nullptr if there is none.
inline float* distance_row(const TensorView& x, const AttentionDims& dims, std::int64_t head) {
  return x.defined() ? x.as<float>() + head * dims.seq_len : nullptr;
}

// Adds the bias by distance to a query's scores of neighbouring keys; `distance` is that of the first key.
inline void add_bias(const float* bias_T, std::int64_t distance, std::int64_t keys, float* __restrict scores) {
  const float* const of_first = bias_T + distance;
  for (std::int64_t i = 0; i < keys; ++i) scores[i] += of_first[-i];
}
// Adds the gradients of such scores to the sums by distance.
inline void add_by_distance(const float* dscores, std::int64_t distance, std::int64_t keys, float* __restrict dbias_T) {
  float* const of_first = dbias_T + distance;
  for (std::int64_t i = 0; i < keys; ++i) of_first[-i] += dscores[i];
}

// How units are divided among threads: each unit into `parts` that take rows in turn.
struct Division {
  int threads = 1;
  std::int64_t units = 0;
  std::int64_t parts = 1;

  std::int64_t items() const { return units * parts; }
};

// Units stay whole if every thread gets an even share of them.
inline Division divide_units(const AttentionDims& dims) {
  Division division;
  division.units = dims.batch * dims.n_kv_heads;
  division.threads = threads_for(dims.batch * dims.n_heads * dims.seq_len * dims.seq_len);
  const bool even = division.units % division.threads == 0 || division.units >= 4 * division.threads;
  division.parts = even ? 1 : division.threads;
  return division;
}

}  // namespace perfbench::engine::cpu
