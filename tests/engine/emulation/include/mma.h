// nvcuda::wmma of mma.h for 16x16x16 bf16 tiles (CUDA C++ Programming Guide, "Warp Matrix Functions"). It is not
// documented which lane holds which element of an accumulator; here it is an arbitrary order that differs from any
// hardware's. This comes before the toolkit's header on the include path.
#pragma once

#include <cuda_bf16.h>

#include <array>
#include <cstdint>
#include <type_traits>

#include "tests/engine/emulation/block.h"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

namespace detail {

inline constexpr unsigned kSide = 16;
inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kLaneElements = kSide * kSide / kLanes;
using Tile = std::array<float, kSide * kSide>;

// The row-by-row numbers of the calling lane's elements. 37 has no factor in common with 256.
struct Places {
  const unsigned lane = perfbench::emulation::Block::lane();
  unsigned operator[](unsigned i) const { return (i * kLanes + lane) * 37 % (kSide * kSide); }
  unsigned row(unsigned i) const { return (*this)[i] / kSide; }
  unsigned column(unsigned i) const { return (*this)[i] % kSide; }
};

inline void require_aligned(const void* address, unsigned stride_bytes) {
  if (reinterpret_cast<std::uintptr_t>(address) % 32 != 0 || stride_bytes % 16 != 0) {
    throw perfbench::emulation::KernelFault(
        "a wmma tile at an address that is no multiple of 32 bytes, or of rows "
        "that are no multiple of 16 bytes apart");
  }
}

// Where the lanes of a warp share the elements of their operands.
struct Board {
  Tile left;
  Tile right;
};
inline std::array<Board, perfbench::emulation::Block::kMostThreads / kLanes> boards;

inline Board& board_of_warp() {
  const uint3& t = perfbench::emulation::place.thread;
  const dim3& size = perfbench::emulation::place.block_size;
  return boards[((t.z * size.y + t.y) * size.x + t.x) / kLanes];
}

}  // namespace detail

template <class Use, int kM, int kN, int kK, class T, class Layout = void>
struct fragment {
  static_assert(kM == 16 && kN == 16 && kK == 16);
  static constexpr int num_elements = detail::kLaneElements;
  float x[detail::kLaneElements];
};

template <class F>
void fill_fragment(F& f, float value) {
  for (float& x : f.x) x = value;
}

template <class Use, class Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, __nv_bfloat16, Layout>& f, const __nv_bfloat16* from, unsigned stride) {
  detail::require_aligned(from, stride * sizeof(__nv_bfloat16));
  const detail::Places places;
  for (unsigned i = 0; i < detail::kLaneElements; ++i) {
    const unsigned row = places.row(i);
    const unsigned column = places.column(i);
    const bool by_rows = std::is_same_v<Layout, row_major>;
    f.x[i] = __bfloat162float(from[by_rows ? row * stride + column : column * stride + row]);
  }
}

inline void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& f, const float* from, unsigned stride,
                             layout_t layout) {
  detail::require_aligned(from, stride * sizeof(float));
  const detail::Places places;
  for (unsigned i = 0; i < detail::kLaneElements; ++i) {
    const unsigned row = places.row(i);
    const unsigned column = places.column(i);
    f.x[i] = from[layout == mem_row_major ? row * stride + column : column * stride + row];
  }
}

inline void store_matrix_sync(float* to, const fragment<accumulator, 16, 16, 16, float>& f, unsigned stride,
                              layout_t layout) {
  detail::require_aligned(to, stride * sizeof(float));
  const detail::Places places;
  for (unsigned i = 0; i < detail::kLaneElements; ++i) {
    const unsigned row = places.row(i);
    const unsigned column = places.column(i);
    to[layout == mem_row_major ? row * stride + column : column * stride + row] = f.x[i];
  }
}

template <class A, class B>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& d, const A& a, const B& b,
              const fragment<accumulator, 16, 16, 16, float>& c) {
  auto& [left, right] = detail::board_of_warp();
  const detail::Places places;
  for (unsigned i = 0; i < detail::kLaneElements; ++i) {
    left[places[i]] = a.x[i];
    right[places[i]] = b.x[i];
  }
  perfbench::emulation::running_block().synchronise_warp(~0U);
  for (unsigned i = 0; i < detail::kLaneElements; ++i) {
    const unsigned row = places.row(i);
    const unsigned column = places.column(i);
    float sum = c.x[i];
    for (unsigned k = 0; k < detail::kSide; ++k) {
      sum += left[row * detail::kSide + k] * right[k * detail::kSide + column];
    }
    d.x[i] = sum;
  }
  perfbench::emulation::running_block().synchronise_warp(~0U);
}

}  // namespace nvcuda::wmma
