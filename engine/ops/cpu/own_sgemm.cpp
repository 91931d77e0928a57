// A packed product for machines without a BLAS. c is cut into blocks that threads take; for each block, slices of k are
// copied in the order in which the registers read them. Sums over k run in one order, so bits do not depend on threads.
#include <omp.h>

#include <cstring>
#include <vector>

#include "engine/ops/cpu/matmul_provider.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"
#include "engine/ops/cpu/scratch.h"
#include "engine/ops/cpu/tile_product.h"
#include "engine/ops/cpu/transpose.h"

namespace perfbench::engine::cpu {
namespace {

constexpr std::int64_t kProductRows = 16 * kTileRows;
constexpr std::int64_t kProductColumns = 16 * kTileColumns;
constexpr std::int64_t kProductDepth = 256;

// Element (i, j) of an operand in the orientation of the product.
struct Operand {
  const float* data;
  std::int64_t row_step;
  std::int64_t column_step;
  const float* at(std::int64_t i, std::int64_t j) const { return data + i * row_step + j * column_step; }
};

Operand operand(const float* data, std::int64_t stride, Transpose transpose) {
  return transpose == Transpose::yes ? Operand{data, 1, stride} : Operand{data, stride, 1};
}

struct Range {
  std::int64_t begin;
  std::int64_t size;
};

// Transposes kLanes rows of the operand's memory, of which `present` exist, from column `first` on, into `to` with
// `step` floats between columns. Whole registers are stored: the next column overwrites what lies behind `step`.
void turn(const float* rows, std::int64_t stride, std::int64_t present, std::int64_t columns, std::int64_t step,
          float* to) {
  for (std::int64_t k = 0; k < columns; k += kLanes) {
    const std::int64_t count = std::min(kLanes, columns - k);
    Vec block[kLanes];
    for (int i = 0; i < kLanes; ++i) block[i] = i < present ? load_up_to(rows + i * stride + k, count) : Vec{};
    transpose(block);
    for (int i = 0; i < count; ++i) store(to + (k + i) * step, block[i]);
  }
}

// Packs strips of `width` neighbours, each [k][width], padded with zeros. `outer` counts along the strips' width;
// kLanes floats behind the last strip are overwritten.
void pack(const Operand& from, Range outer, Range depth, std::int64_t width, float* to) {
  for (std::int64_t strip = 0; strip < outer.size; strip += width, to += width * depth.size) {
    const std::int64_t present = std::min(width, outer.size - strip);
    if (from.column_step == 1) {  // rows of memory run along k
      for (std::int64_t i = 0; i < width; i += kLanes) {
        turn(from.at(outer.begin + strip + i, depth.begin), from.row_step,
             std::clamp<std::int64_t>(present - i, 0, std::min(kLanes, width - i)), depth.size, width, to + i);
      }
      continue;
    }
    for (std::int64_t k = 0; k < depth.size; ++k) {
      std::memcpy(to + k * width, from.at(outer.begin + strip, depth.begin + k),
                  static_cast<std::size_t>(present) * sizeof(float));
      std::fill(to + k * width + present, to + (k + 1) * width, 0.0F);
    }
  }
}

struct BlockBuffers {
  explicit BlockBuffers(Carver& carver)
      : a(carver.take(kProductRows * kProductDepth + kLanes)),
        b(carver.take(kProductDepth * kProductColumns + kLanes)),
        c(carver.take(kProductRows * kProductColumns)) {}
  float* a;  // packed
  float* b;  // packed
  float* c;  // [kProductRows, kProductColumns]
};

void write_block(const SgemmArgs& args, Range rows, Range columns, const float* block) {
  for (std::int64_t i = 0; i < rows.size; ++i) {
    float* const c = args.c + (rows.begin + i) * args.c_stride + columns.begin;
    const float* const sum = block + i * kProductColumns;
    if (args.write == Write::accumulate) {
      for (std::int64_t j = 0; j < columns.size; ++j) c[j] += args.factor * sum[j];
    } else {
      for (std::int64_t j = 0; j < columns.size; ++j) c[j] = args.factor * sum[j];
    }
  }
}

void product_block(const SgemmArgs& args, Range rows, Range columns, const BlockBuffers& buffers) {
  const Operand a = operand(args.a, args.a_stride, args.transpose_a);
  const Operand b = operand(args.b, args.b_stride, args.transpose_b);
  const Operand b_turned{b.data, b.column_step, b.row_step};
  std::fill(buffers.c, buffers.c + kProductRows * kProductColumns, 0.0F);
  for (std::int64_t k = 0; k < args.k; k += kProductDepth) {
    const Range depth{k, std::min(kProductDepth, args.k - k)};
    pack(a, rows, depth, kTileRows, buffers.a);
    pack(b_turned, columns, depth, kTileColumns, buffers.b);
    for (std::int64_t j = 0; j < columns.size; j += kTileColumns) {
      for (std::int64_t i = 0; i < rows.size; i += kTileRows) {
        tile_product<TileLayout::column_major, Write::accumulate>({.a = buffers.a + i * depth.size,
                                                                   .a_stride = kTileRows,
                                                                   .b = buffers.b + j * depth.size,
                                                                   .b_stride = kTileColumns,
                                                                   .c = buffers.c + i * kProductColumns + j,
                                                                   .c_stride = kProductColumns,
                                                                   .m = kTileRows,
                                                                   .n = kTileColumns,
                                                                   .k = depth.size});
      }
    }
  }
  write_block(args, rows, columns, buffers.c);
}

void own_sgemm(const SgemmArgs& args) {
  const std::int64_t row_blocks = (args.m + kProductRows - 1) / kProductRows;
  const std::int64_t column_blocks = (args.n + kProductColumns - 1) / kProductColumns;
  Carver needed;
  const BlockBuffers unplaced(needed);
  const int threads = omp_in_parallel() != 0 ? 1 : threads_for(args.m * args.n);
  Scratch scratch;
  scratch.prepare(threads, needed.used());
  for_items(row_blocks * column_blocks, threads, [&](std::int64_t item, int thread) {
    Carver carver(scratch.of_thread(threads == 1 ? 0 : thread));
    const BlockBuffers buffers(carver);
    const std::int64_t row = item % row_blocks * kProductRows;
    const std::int64_t column = item / row_blocks * kProductColumns;
    product_block(args, {row, std::min(kProductRows, args.m - row)},
                  {column, std::min(kProductColumns, args.n - column)}, buffers);
  });
}

std::string own_version() {
  return std::to_string(kTileRows) + "x" + std::to_string(kTileColumns) + " tiles";
}

}  // namespace

const MatmulProvider& own_provider() {
  static const MatmulProvider provider{"own", own_sgemm, own_version};
  return provider;
}

}  // namespace perfbench::engine::cpu
