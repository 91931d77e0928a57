// Products of 16x16 tiles by one warp, with operands in shared memory and sums in f32 registers: bf16 on tensor cores,
// f32 by plain multiply-adds. The attention kernels are written once against these.
//
// It is not documented which lane holds which elements of an accumulator in wmma fragments. Each kernel finds out once,
// by loading a tile that holds the numbers of its own elements (find_places).
#pragma once

#include <mma.h>

#include <cstdint>

#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/reductions.cuh"

namespace perfbench::engine::cuda {

namespace wmma = nvcuda::wmma;

inline constexpr int kTile = 16;
inline constexpr int kLaneElements = kTile * kTile / kWarp;  // of an accumulator, in one lane

// The row and column of each of the calling lane's elements.
struct Places {
  int at[kLaneElements];
  __device__ int row(int i) const { return at[i] / kTile; }
  __device__ int column(int i) const { return at[i] % kTile; }
};

struct TensorCores {
  using Element = Bf16;
  using Accumulator = wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float>;
  using Left = wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, Element, wmma::row_major>;
  using LeftTransposed = wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, Element, wmma::col_major>;
  // Padding behind each row of a tile, so that rows fall into different banks.
  static constexpr int kPad = 8;

  __device__ static void clear(Accumulator& sum) { wmma::fill_fragment(sum, 0.0F); }
  __device__ static Left load(const Element* a, int stride) {
    Left left;
    wmma::load_matrix_sync(left, a, static_cast<unsigned>(stride));
    return left;
  }
  // a^T
  __device__ static LeftTransposed load_transposed(const Element* a, int stride) {
    LeftTransposed left;
    wmma::load_matrix_sync(left, a, static_cast<unsigned>(stride));
    return left;
  }
  // sum += a b
  template <class A>
  __device__ static void add_product(Accumulator& sum, const A& a, const Element* b, int stride) {
    wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, Element, wmma::row_major> right;
    wmma::load_matrix_sync(right, b, static_cast<unsigned>(stride));
    wmma::mma_sync(sum, a, right, sum);
  }
  // sum += a b^T
  __device__ static void add_product_transposed(Accumulator& sum, const Left& a, const Element* b, int stride) {
    wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, Element, wmma::col_major> right;
    wmma::load_matrix_sync(right, b, static_cast<unsigned>(stride));
    wmma::mma_sync(sum, a, right, sum);
  }
  __device__ static void store(float* to, const Accumulator& sum, int stride) {
    wmma::store_matrix_sync(to, sum, static_cast<unsigned>(stride), wmma::mem_row_major);
  }
  // `shared`: kTile * kTile floats that belong to this warp.
  __device__ static Places find_places(float* shared) {
    const int lane = threadIdx.x % kWarp;
    for (int i = lane; i < kTile * kTile; i += kWarp) shared[i] = static_cast<float>(i);
    __syncwarp();
    Accumulator numbers;
    static_assert(Accumulator::num_elements == kLaneElements);
    wmma::load_matrix_sync(numbers, shared, kTile, wmma::mem_row_major);
    Places places;
    for (int i = 0; i < kLaneElements; ++i) places.at[i] = static_cast<int>(numbers.x[i]);
    __syncwarp();
    return places;
  }
};

// A lane computes two rows by four columns.
struct PlainFma {
  using Element = float;
  struct Accumulator {
    float x[kLaneElements];
  };
  struct Left {
    const float* data;
    int row_stride;
    int column_stride;
  };
  static constexpr int kPad = 4;

  __device__ static int first_row() { return static_cast<int>(threadIdx.x) % kWarp / 4 * 2; }
  __device__ static int first_column() { return static_cast<int>(threadIdx.x) % 4 * 4; }

  __device__ static void clear(Accumulator& sum) {
    for (float& x : sum.x) x = 0;
  }
  __device__ static Left load(const float* a, int stride) { return {a, stride, 1}; }
  __device__ static Left load_transposed(const float* a, int stride) { return {a, 1, stride}; }
  __device__ static void add_product(Accumulator& sum, const Left& a, const float* b, int stride) {
    const float* const rows = a.data + first_row() * a.row_stride;
    const float* const columns = b + first_column();
#pragma unroll
    for (int k = 0; k < kTile; ++k) {
      const float4 right = *reinterpret_cast<const float4*>(columns + k * stride);
      add_outer(sum, rows[k * a.column_stride], rows[a.row_stride + k * a.column_stride], right);
    }
  }
  __device__ static void add_product_transposed(Accumulator& sum, const Left& a, const float* b, int stride) {
    const float* const rows = a.data + first_row() * a.row_stride;
    const float* const columns = b + first_column() * stride;
#pragma unroll
    for (int k = 0; k < kTile; ++k) {
      const float4 right = {columns[k], columns[stride + k], columns[2 * stride + k], columns[3 * stride + k]};
      add_outer(sum, rows[k * a.column_stride], rows[a.row_stride + k * a.column_stride], right);
    }
  }
  __device__ static void store(float* to, const Accumulator& sum, int stride) {
    for (int i = 0; i < kLaneElements; ++i) to[(first_row() + i / 4) * stride + first_column() + i % 4] = sum.x[i];
  }
  __device__ static Places find_places(float*) {
    Places places;
    for (int i = 0; i < kLaneElements; ++i) places.at[i] = (first_row() + i / 4) * kTile + first_column() + i % 4;
    return places;
  }

 private:
  __device__ static void add_outer(Accumulator& sum, float upper, float lower, const float4& right) {
    const float columns[4] = {right.x, right.y, right.z, right.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      sum.x[j] = fmaf(upper, columns[j], sum.x[j]);
      sum.x[4 + j] = fmaf(lower, columns[j], sum.x[4 + j]);
    }
  }
};

}  // namespace perfbench::engine::cuda
