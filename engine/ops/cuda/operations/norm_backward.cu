// The gradients of RMSNorm and LayerNorm. One block per row: the next row is on its way to shared memory while this one
// is computed, and every thread reads back only what it copied itself. Each block sums the gradients of weight and bias
// over its rows; then the blocks are summed.
#include <algorithm>
#include <numeric>

#include "engine/ops/cuda/device/async_copy.cuh"
#include "engine/ops/cuda/operations/column_sums.h"
#include "engine/ops/cuda/operations/norm_operands.cuh"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

// Elements of a row per thread: few enough to leave four or more warps to each scheduler. A row of 2048 has four blocks
// of 128 threads on a multiprocessor (measured on an H100: with one warp a row takes twice as long). Rows of more than
// 8192 elements have twice as many.
constexpr int kThreadElements = 16;
template <class T>
inline constexpr int kNarrowSlots = kThreadElements / kVector<T>;

struct BackwardShape {
  Parameter weight;
  NormStatistics statistics;
  float* dweight;  // [blocks, 2, width]: dweight of this block's rows, then their dbias
  bool has_dweight;
  bool has_dbias;
  RowPlaces dx;
  RowPlaces dy;
  RowPlaces x;
  std::int64_t rows;
  std::int64_t width;
  Write write_dx;
};

// The inputs of a row's computation; for dx its old contents, if it is added to. dx and dy may share memory: the last
// read of a row precedes its write.
enum class Operand { x, dy, dx };
constexpr int kOperands = 3;

template <class T>
struct Rows {
  T* dx;
  const T* dy;
  const T* x;

  __device__ const T* of(Operand operand, std::int64_t row, const BackwardShape& shape) const {
    if (operand == Operand::x) return x + shape.x.first(row);
    return operand == Operand::dy ? dy + shape.dy.first(row) : dx + shape.dx.first(row);
  }
};

// Where a block reads its rows from. This one reads memory each time it needs a vector.
template <class T, int kSlots, Access kAccess>
class RowsInMemory {
 public:
  static constexpr int N = kVector<T>;

  __device__ RowsInMemory(const Rows<T>& rows, const BackwardShape& shape) : rows_(rows), shape_(shape) {}
  __device__ void begin(std::int64_t) {}
  __device__ void advance(std::int64_t row) { row_ = row; }
  __device__ void get(Operand operand, int, std::int64_t first, std::int64_t count, float (&to)[N]) const {
    load(rows_.of(operand, row_, shape_) + first, count, kAccess, to);
  }

 private:
  const Rows<T>& rows_;
  const BackwardShape& shape_;
  std::int64_t row_ = 0;
};

// This one reads shared memory: [slots][2 rows][operands][threads] vectors.
template <class T, int kSlots, Access kAccess>
class RowsAhead {
 public:
  static constexpr int N = kVector<T>;

  __device__ RowsAhead(const Rows<T>& rows, const BackwardShape& shape) : rows_(rows), shape_(shape) {}
  // Starts with the block's first row.
  __device__ void begin(std::int64_t row) {
    fetch(row, 0);
    end_group_of_copies();
  }
  // Waits for the row, and requests the block's next one.
  __device__ void advance(std::int64_t row) {
    if (row + gridDim.x < shape_.rows) fetch(row + gridDim.x, place_ ^ 1);
    end_group_of_copies();
    wait_for_groups_before();
    here_ = place_;
    place_ ^= 1;
  }
  __device__ void get(Operand operand, int slot, std::int64_t, std::int64_t, float (&to)[N]) const {
    at(here_, operand, slot)->get(to);
  }

 private:
  __device__ Packed<T>* at(int place, Operand operand, int slot) const {
    PERFBENCH_DYNAMIC_SHARED(unsigned char, shared);
    const int vector = (slot * 2 + place) * kOperands + static_cast<int>(operand);
    const int index = vector * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
    unsigned char* const first = shared + index * static_cast<int>(sizeof(Packed<T>));
    return reinterpret_cast<Packed<T>*>(first);
  }
  __device__ void fetch(std::int64_t row, int place) {
    fetch(Operand::x, row, place);
    fetch(Operand::dy, row, place);
    if (shape_.write_dx == Write::accumulate) fetch(Operand::dx, row, place);
  }
  __device__ void fetch(Operand operand, std::int64_t row, int place) {
    const T* const from = rows_.of(operand, row, shape_);
    for_each_slot<T, kSlots, kAccess>(shape_.width, [&](int slot, std::int64_t first, std::int64_t count) {
      if constexpr (kAccess == Access::vector) {
        copy_async(at(place, operand, slot), from + first);
      } else {
        at(place, operand, slot)->template read<kAccess>(from + first, count);
      }
    });
  }

  const Rows<T>& rows_;
  const BackwardShape& shape_;
  int place_ = 0;
  int here_ = 0;
};

template <class T>
std::size_t bytes_ahead(unsigned threads, int slots) {
  return std::size_t{2} * kOperands * static_cast<unsigned>(slots) * threads * sizeof(Packed<T>);
}

// The sums over a block's rows: in the registers of the thread that owns the columns, or in its own part of memory.
template <class T, int kSlots, Access kAccess>
class ColumnSum {
 public:
  static constexpr int N = kVector<T>;

  __device__ void begin(float* out, std::int64_t width) {
    out_ = out;
    for_each_slot<T, kSlots, kAccess>(width, [&](int slot, std::int64_t first, std::int64_t count) {
      if constexpr (kSlots == kAnyNumber) {
        for (std::int64_t i = first; i < first + count; ++i) out_[i] = 0.0F;
      } else {
#pragma unroll
        for (int i = 0; i < N; ++i) sum_[slot][i] = 0.0F;
      }
    });
  }
  __device__ void add(int slot, std::int64_t first, std::int64_t count, const float (&terms)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if constexpr (kSlots == kAnyNumber) {
        if (i < count) out_[first + i] += terms[i];
      } else {
        sum_[slot][i] += terms[i];
      }
    }
  }
  __device__ void end(std::int64_t width) {
    if constexpr (kSlots != kAnyNumber) {
      for_each_slot<T, kSlots, kAccess>(width, [&](int slot, std::int64_t first, std::int64_t count) {
        store(out_ + first, count, kAccess, sum_[slot]);
      });
    }
  }

 private:
  float* out_ = nullptr;
  float sum_[places(kSlots)][N];
};

// With h = (x - mean) * rstd and g = dy * weight: dx = rstd * (g - mean(g) - h * mean(g h)), without mean(g) for
// rmsnorm; dweight = sum dy h; dbias = sum dy.
template <class T, int kSlots, Access kAccess, template <class, int, Access> class Source>
__global__ void __launch_bounds__(kMostRowThreads)
    backward_kernel(T* dx, const T* dy, const T* x, BackwardShape shape) {
  constexpr int N = kVector<T>;
  const std::int64_t width = shape.width;
  const auto n = static_cast<float>(width);
  const bool centred = shape.statistics.mean != nullptr;
  const Rows<T> operands{dx, dy, x};
  Source<T, kSlots, kAccess> source(operands, shape);
  ColumnSum<T, kSlots, kAccess> dweight;
  ColumnSum<T, kSlots, kAccess> dbias;
  float* const partial = shape.dweight + static_cast<std::int64_t>(blockIdx.x) * 2 * width;
  if (shape.has_dweight) dweight.begin(partial, width);
  if (shape.has_dbias) dbias.begin(partial + width, width);
  source.begin(blockIdx.x);
  for (std::int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const float mean = centred ? shape.statistics.mean[row] : 0.0F;
    const float rstd = shape.statistics.rstd[row];
    source.advance(row);
    // g and h of a vector; zero beyond the row.
    const auto terms = [&](int slot, std::int64_t first, std::int64_t count, float(&up)[N], float(&g)[N],
                           float(&h)[N]) {
      source.get(Operand::dy, slot, first, count, up);
      source.get(Operand::x, slot, first, count, h);
      load(shape.weight, first, count, kAccess, g);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        g[i] *= up[i];
        h[i] = (h[i] - mean) * rstd;
      }
    };
    float sum_g = 0.0F;
    float sum_gh = 0.0F;
    for_each_slot<T, kSlots, kAccess>(width, [&](int slot, std::int64_t first, std::int64_t count) {
      float up[N];
      float g[N];
      float h[N];
      terms(slot, first, count, up, g, h);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        sum_g += g[i];
        sum_gh += g[i] * h[i];
      }
    });
    const float mean_g = centred ? sum_over_block(sum_g) / n : 0.0F;
    const float mean_gh = sum_over_block(sum_gh) / n;
    for_each_slot<T, kSlots, kAccess>(width, [&](int slot, std::int64_t first, std::int64_t count) {
      float up[N];
      float g[N];
      float h[N];
      terms(slot, first, count, up, g, h);
      float gradient[N] = {};
      if (shape.write_dx == Write::accumulate) source.get(Operand::dx, slot, first, count, gradient);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        gradient[i] += rstd * (g[i] - mean_g - h[i] * mean_gh);
        h[i] *= up[i];
      }
      store(dx + shape.dx.first(row) + first, count, kAccess, gradient);
      if (shape.has_dweight) dweight.add(slot, first, count, h);
      if (shape.has_dbias) dbias.add(slot, first, count, up);
    });
  }
  if (shape.has_dweight) dweight.end(width);
  if (shape.has_dbias) dbias.end(width);
}

struct BackwardLaunch {
  const NormBackwardArgs& args;
  const BackwardShape& shape;
  Access access;
  std::int64_t blocks;
  std::size_t most_shared;  // bytes available to a block
  cudaStream_t stream;
};

// The bits depend neither on prefetching of rows nor on their layout in memory.
template <class T, int kSlots, Access kAccess>
void launch_backward(const BackwardLaunch& l) {
  LaunchShape blocks{
      .grid = row_blocks(l.blocks), .block = threads_of_row<T>(l.shape.width, kSlots), .stream = l.stream};
  const auto run = [&](auto kernel) {
    launch("norm_backward", kernel, blocks, l.args.dx_NM.as<T>(), l.args.dy_NM.as<const T>(), l.args.x_NM.as<const T>(),
           l.shape);
  };
  if constexpr (kSlots != kAnyNumber) {
    const std::size_t ahead = bytes_ahead<T>(blocks.block.x, kSlots);
    if (ahead <= l.most_shared) {
      blocks.shared_bytes = ahead;
      return run(backward_kernel<T, kSlots, kAccess, RowsAhead>);
    }
  }
  run(backward_kernel<T, kSlots, kAccess, RowsInMemory>);
}

template <class T, int kSlots>
void launch_backward(const BackwardLaunch& l) {
  with_access(l.access, [&]<Access kAccess>() { launch_backward<T, kSlots, kAccess>(l); });
}

}  // namespace

void CudaOps::do_norm_backward(const NormBackwardArgs& args) {
  const std::int64_t rows = args.x_NM.shape[0];
  const std::int64_t width = args.x_NM.shape[1];
  const std::int64_t groups = std::min(rows, workspace::norm_row_groups(width));
  auto* const partial = static_cast<float*>(workspace(workspace::norm_backward_bytes(width), "norm_backward"));
  const BackwardShape shape{.weight = parameter(args.weight_M),
                            .statistics = statistics_of(args.statistics, rows, args.kind),
                            .dweight = partial,
                            .has_dweight = args.dweight_M.defined(),
                            .has_dbias = args.dbias_M.defined(),
                            .dx = places_of(args.dx_NM),
                            .dy = places_of(args.dy_NM),
                            .x = places_of(args.x_NM),
                            .rows = rows,
                            .width = width,
                            .write_dx = args.write_dx};
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    const Access access = access_of(
        {args.dx_NM.data, args.dy_NM.data, args.x_NM.data, args.weight_M.data, partial},
        std::gcd(std::gcd(args.dx_NM.stride, args.dy_NM.stride), std::gcd(args.x_NM.stride, width)), kVector<T>);
    const BackwardLaunch backward{args, shape, access, groups, device_.properties().sharedMemPerBlockOptin, stream()};
    constexpr int kSlots = kNarrowSlots<T>;
    if (width <= widest_row<T>(kSlots)) return launch_backward<T, kSlots>(backward);
    if (width <= widest_row<T>(2 * kSlots)) return launch_backward<T, 2 * kSlots>(backward);
    launch_backward<T, kAnyNumber>(backward);
  });
  if (!args.dweight_M.defined()) return;
  ColumnSums sums{.out = args.dweight_M.as<float>(),
                  .partial = partial,
                  .groups = groups,
                  .stride = 2 * width,
                  .width = width,
                  .write = args.write_parameters};
  sum_groups(sums, stream());
  if (!args.dbias_M.defined()) return;
  sums.out = args.dbias_M.as<float>();
  sums.partial = partial + width;
  sum_groups(sums, stream());
}

}  // namespace perfbench::engine::cuda
