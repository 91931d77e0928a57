// A row of [N, width] spread over the threads of a block, in registers if it fits. The assignment of elements to
// threads depends only on the width: the same sums in the same order, however the rows lie in memory.
#pragma once

#include "engine/core/rows_view.h"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/device/packed.cuh"
#include "engine/ops/cuda/device/reductions.cuh"

namespace perfbench::engine::cuda {

// The threads of a row: each has up to kSlots vectors of it, which may stay in registers. With kAnyNumber it has any
// number of vectors.
inline constexpr int kAnyNumber = 0;
inline constexpr int kMostRowThreads = 512;

// Places for the vectors that a thread keeps, or handles one after the other.
constexpr int places(int slots) {
  return slots == kAnyNumber ? 1 : slots;
}

template <class T>
unsigned threads_of_row(std::int64_t width, int slots) {
  return row_threads(width, std::int64_t{places(slots)} * kVector<T>, kMostRowThreads);
}
template <class T>
constexpr std::int64_t widest_row(int slots) {
  return std::int64_t{kMostRowThreads} * slots * kVector<T>;
}

// Calls f(slot, first, count) for every vector of the row that belongs to this thread.
template <class T, int kSlots, Access kAccess, class F>
__device__ inline void for_each_slot(std::int64_t width, F f) {
  constexpr int N = kVector<T>;
  const auto call = [&](int slot, std::int64_t first) {
    if constexpr (kAccess == Access::vector) {
      f(slot, first, std::int64_t{N});
    } else {
      f(slot, first, width - first < N ? width - first : std::int64_t{N});
    }
  };
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * N;
  std::int64_t first = static_cast<std::int64_t>(threadIdx.x) * N;
  if constexpr (kSlots == kAnyNumber) {
    for (; first < width; first += step) call(0, first);
  } else {
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot, first += step) {
      if (first < width) call(slot, first);
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

template <class T, int kSlots, Access kAccess>
class HeldRow {
 public:
  static constexpr int N = kVector<T>;

  __device__ void read(const T* row, std::int64_t width) {
    row_ = row;
    if constexpr (kSlots != kAnyNumber) {
      for_each_slot<T, kSlots, kAccess>(width, [&](int slot, std::int64_t first, std::int64_t count) {
        held_[slot].template read<kAccess>(row + first, count);
      });
    }
  }
  // The N elements from `first` on, with zeros beyond the row.
  __device__ void get(int slot, std::int64_t first, std::int64_t count, float (&to)[N]) const {
    if constexpr (kSlots == kAnyNumber) {
      Packed<T> vector;
      vector.template read<kAccess>(row_ + first, count);
      vector.get(to);
    } else {
      held_[slot].get(to);
    }
  }

  // Sets the row to `other` plus the contents of `row`, rounded to T, here and in memory. All reads precede all writes,
  // because a load that follows a store waits for it.
  __device__ void read_sum(T* row, const T* other, std::int64_t width) {
    read(row, width);
    Packed<T> added[places(kSlots)];
    const auto add = [&](int slot, std::int64_t first, std::int64_t count) {
      float sum[N];
      float term[N];
      get(slot, first, count, sum);
      added[slot].get(term);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += term[i];
      Packed<T> rounded;
      rounded.set(sum);
      rounded.template write<kAccess>(row + first, count);
      if constexpr (kSlots != kAnyNumber) held_[slot] = rounded;
    };
    const auto read_other = [&](int slot, std::int64_t first, std::int64_t count) {
      added[slot].template read<kAccess>(other + first, count);
    };
    if constexpr (kSlots == kAnyNumber) {
      for_each_slot<T, kSlots, kAccess>(width, [&](int slot, std::int64_t first, std::int64_t count) {
        read_other(slot, first, count);
        add(slot, first, count);
      });
    } else {
      for_each_slot<T, kSlots, kAccess>(width, read_other);
      for_each_slot<T, kSlots, kAccess>(width, add);
    }
  }
  __device__ void forget() {
    if constexpr (kSlots != kAnyNumber) {
#pragma unroll
      for (int slot = 0; slot < kSlots; ++slot) held_[slot].forget();
    }
  }

 private:
  const T* row_ = nullptr;
  Packed<T> held_[places(kSlots)];
};

}  // namespace perfbench::engine::cuda
