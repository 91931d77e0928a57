// A row of [N, width] spread over the threads of a block, in registers where it fits.
#pragma once

#include "engine/core/rows_view.h"
#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"

namespace perfbench::engine::cuda {

// Elements of a row that one thread keeps; a row of up to 1024 times as many is read from memory once.
inline constexpr int kHeldElements = 16;

// Where a row is between two sweeps over it: in the registers of blocks of up to 512 or of 1024 threads, which have
// half as many each, or in memory.
enum class Hold { narrow, wide, none };

constexpr Hold hold_for(std::int64_t width) {
  if (width <= 512 * kHeldElements) return Hold::narrow;
  return width <= 1024 * kHeldElements ? Hold::wide : Hold::none;
}
template <Hold kHold>
inline constexpr int kRowThreads = kHold == Hold::wide ? 1024 : 512;

template <class F>
void with_hold(std::int64_t width, F&& f) {
  switch (hold_for(width)) {
    case Hold::narrow:
      return f.template operator()<Hold::narrow>();
    case Hold::wide:
      return f.template operator()<Hold::wide>();
    case Hold::none:
      return f.template operator()<Hold::none>();
  }
}

template <Hold kHold>
LaunchShape row_shape(std::int64_t blocks, std::int64_t width, cudaStream_t stream) {
  return {.grid = row_blocks(blocks), .block = row_threads(width, kHeldElements, kRowThreads<kHold>), .stream = stream};
}

// Vectors of a row that one thread keeps, or a single one at a time.
template <class T, Hold kHold>
inline constexpr int kSlots = kHold == Hold::none ? 1 : kHeldElements / kVector<T>;

// Calls f(slot, first, count) for every vector of the row that falls to this thread.
template <class T, Hold kHold, class F>
__device__ inline void for_each_slot(std::int64_t width, F f) {
  constexpr int N = kVector<T>;
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * N;
  std::int64_t first = static_cast<std::int64_t>(threadIdx.x) * N;
  if constexpr (kHold == Hold::none) {
    for (; first < width; first += step) f(0, first, width - first < N ? width - first : std::int64_t{N});
  } else {
#pragma unroll
    for (int slot = 0; slot < kSlots<T, kHold>; ++slot, first += step) {
      if (first < width) f(slot, first, width - first < N ? width - first : std::int64_t{N});
    }
  }
}

// Where the rows of an operand begin.
struct RowPlaces {
  std::int64_t stride;
  std::int64_t group;
  std::int64_t width;
  __device__ std::int64_t first(std::int64_t row) const { return row_start(row, stride, group, width); }
};
inline RowPlaces places_of(const RowsView& rows) {
  return {rows.stride, rows.group, rows.shape[1]};
}

template <class T, Hold kHold>
class HeldRow {
 public:
  static constexpr int N = kVector<T>;

  __device__ void read(const T* row, std::int64_t width, Access access) {
    row_ = row;
    access_ = access;
    if constexpr (kHold != Hold::none) {
      for_each_slot<T, kHold>(width, [&](int slot, std::int64_t first, std::int64_t count) {
        load(row + first, count, access, held_[slot]);
      });
    }
  }
  // The N elements from `first`; zeros beyond the row.
  __device__ void get(int slot, std::int64_t first, std::int64_t count, float (&to)[N]) const {
    if constexpr (kHold == Hold::none) {
      load(row_ + first, count, access_, to);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) to[i] = held_[slot][i];
    }
  }

  // The row becomes `other` plus itself, rounded to T, here and in `memory`, from which it was read.
  __device__ void add(const T* other, T* memory, std::int64_t width) {
    for_each_slot<T, kHold>(width, [&](int slot, std::int64_t first, std::int64_t count) {
      float sum[N];
      float term[N];
      get(slot, first, count, sum);
      load(other + first, count, access_, term);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        sum[i] = to_f32(from_f32<T>(term[i] + sum[i]));
        if constexpr (kHold != Hold::none) held_[slot][i] = sum[i];
      }
      store(memory + first, count, access_, sum);
    });
  }

 private:
  const T* row_ = nullptr;
  Access access_ = Access::element;
  float held_[kSlots<T, kHold>][N];
};

}  // namespace perfbench::engine::cuda
