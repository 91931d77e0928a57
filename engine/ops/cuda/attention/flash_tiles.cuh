// Shared by the kernels of our own flash attention: the problem, the layout of its heads, and tiles of them in shared
// memory.
#pragma once

#include <cstdint>

#include "engine/ops/cuda/device/async_copy.cuh"
#include "engine/ops/cuda/device/tile_units.cuh"
#include "engine/ops/ops.h"

namespace perfbench::engine::cuda {

inline constexpr float kLog2E = 1.4426950408889634F;

// The score of a sum of products. Both directions compute the same bits, because the subtraction that follows is not
// fused with it. So however large the scores are, none is above its row's logsumexp
// (engine/ops/cpu/attention_flash.cpp).
__device__ inline float scaled_score(float sum, float scale) {
  return __fmul_rn(sum, scale);
}

// Changes to base 2 only here: an earlier factor log2(e) would add a rounding of numbers that may be large.
__device__ inline float exp_of_difference(float difference) {
  return exp2f(difference * kLog2E);
}

inline constexpr int kMostFlashHeadDim = 256;

enum class Addresses { any, multiples_of_16 };

struct FlashProblem {
  AttentionDims dims;
  Addresses addresses = Addresses::any;
};

// The rows of one head of one sequence within x[N, heads*D].
template <class T>
struct HeadRows {
  T* data = nullptr;  // row 0
  std::int64_t stride = 0;
  __device__ T* row(std::int64_t t) const { return data + t * stride; }
};

// x[N, heads*D], where a token's row may lie within a wider one.
struct HeadsOperand {
  void* data = nullptr;
  std::int64_t stride = 0;  // elements from one token to the next
};
inline HeadsOperand heads_operand(const RowsView& x) {
  return {x.data, x.stride};
}

template <class T>
__device__ HeadRows<T> head_rows(const HeadsOperand& x, const AttentionDims& d, std::int64_t batch, std::int64_t head) {
  return {static_cast<T*>(x.data) + batch * d.seq_len * x.stride + head * d.head_dim, x.stride};
}

// Where the documents of a sequence's tokens begin, [T]; null if the sequence is one document.
__device__ inline const std::int32_t* document_starts(const std::int32_t* first_N, const AttentionDims& d,
                                                      std::int64_t batch) {
  return first_N == nullptr ? nullptr : first_N + batch * d.seq_len;
}

// The first tile of keys that queries from `row` on see.
__device__ inline std::int64_t first_key_tile(const std::int32_t* first_T, std::int64_t row, std::int64_t tile) {
  return first_T == nullptr ? 0 : first_T[row] / tile * tile;
}

// The first element of a head's row of statistics [B, H, T].
__device__ inline std::int64_t statistics_row(const AttentionDims& d, std::int64_t batch, std::int64_t head) {
  return (batch * d.n_heads + head) * d.seq_len;
}

// Begins to load rows [first, first + kRows) of a head into tile[kRows][kWidth + pad], with zeros for rows and columns
// beyond the end. All kThreads of the block take part; wait_for_copies() and a barrier end it.
template <class Units, int kRows, int kWidth, int kThreads>
__device__ void load_tile(typename Units::Element* tile, const FlashProblem& problem,
                          HeadRows<const typename Units::Element> from, std::int64_t first) {
  using T = typename Units::Element;
  constexpr int kRow = kWidth + Units::kPad;
  constexpr int kPiece = kCopyBytes / static_cast<int>(sizeof(T));
  constexpr int kPieces = kWidth / kPiece;
  const auto width = static_cast<int>(problem.dims.head_dim);
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kPieces; i += kThreads) {
    const int r = i / kPieces;
    const int column = i % kPieces * kPiece;
    T* const to = tile + r * kRow + column;
    const bool present = first + r < problem.dims.seq_len;
    if (problem.addresses == Addresses::multiples_of_16 && present && column + kPiece <= width) {
      copy_async(to, from.row(first + r) + column);
      continue;
    }
    for (int j = 0; j < kPiece; ++j) {
      to[j] = present && column + j < width ? from.row(first + r)[column + j] : from_f32<T>(0.0F);
    }
  }
}

// Writes a warp's accumulators of rows [row, row + kTile) and columns [column, ...) as far as these exist.
template <class Units, int kTiles>
__device__ void write_rows(HeadRows<typename Units::Element> to, const FlashProblem& problem, std::int64_t row,
                           std::int64_t column, const typename Units::Accumulator (&sums)[kTiles], float factor,
                           const Places& places) {
  using T = typename Units::Element;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < kLaneElements; ++i) {
      const std::int64_t r = row + places.row(i);
      const std::int64_t c = column + tile * kTile + places.column(i);
      if (r < problem.dims.seq_len && c < problem.dims.head_dim) to.row(r)[c] = from_f32<T>(sums[tile].x[i] * factor);
    }
  }
}

template <class Units, int kTiles>
__device__ void clear_tiles(typename Units::Accumulator (&sums)[kTiles]) {
#pragma unroll
  for (auto& sum : sums) Units::clear(sum);
}

// sums = a b^T: a warp's 16 rows of a by kTiles * 16 rows of b, both of kWidth columns and kRow elements apart.
template <class Units, int kWidth, int kRow, int kTiles>
__device__ void score_tiles(typename Units::Accumulator (&sums)[kTiles], const typename Units::Element* a,
                            const typename Units::Element* b) {
  clear_tiles<Units>(sums);
#pragma unroll
  for (int k = 0; k < kWidth; k += kTile) {
    const auto left = Units::load(a + k, kRow);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) Units::add_product_transposed(sums[j], left, b + j * kTile * kRow + k, kRow);
  }
}

// sums += scores x: a warp's 16 rows of kDepth scores, kScoreRow apart, by kDepth rows of x, kRow apart.
template <class Units, int kDepth, int kScoreRow, int kRow, int kTiles>
__device__ void add_value_tiles(typename Units::Accumulator (&sums)[kTiles], const typename Units::Element* scores,
                                const typename Units::Element* x) {
#pragma unroll
  for (int k = 0; k < kDepth; k += kTile) {
    const auto left = Units::load(scores + k, kScoreRow);
#pragma unroll
    for (int j = 0; j < kTiles; ++j) Units::add_product(sums[j], left, x + k * kRow + j * kTile, kRow);
  }
}

// Offsets of arrays in a block's shared memory. Each is a multiple of 128 bytes, where any tile of products may start.
class SharedLayout {
 public:
  constexpr std::size_t take(std::size_t bytes) {
    const std::size_t at = bytes_;
    bytes_ += (bytes + kMultiple - 1) / kMultiple * kMultiple;
    return at;
  }
  constexpr std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kMultiple = 128;
  std::size_t bytes_ = 0;
};

}  // namespace perfbench::engine::cuda
