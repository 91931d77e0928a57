// RMSNorm and LayerNorm. One block a row; a row of up to 16384 elements stays in registers between its sums and its
// result. The gradients of weight and bias are summed by each block over its rows, then over the blocks.
#include <cmath>
#include <numeric>

#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/reductions.cuh"
#include "engine/ops/cuda/device/rows.cuh"
#include "engine/ops/cuda/operations/column_sums.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

enum class Statistics { compute, given };

struct SavedStatistics {
  float* mean;  // [N], or nullptr for rmsnorm
  float* rstd;  // [N]
};

SavedStatistics statistics_of(const TensorView& saved, std::int64_t rows, spec::NormKind kind) {
  auto* const first = saved.as<float>();
  return kind == spec::NormKind::layernorm ? SavedStatistics{first, first + rows} : SavedStatistics{nullptr, first};
}

struct ForwardShape {
  Parameter weight;
  Parameter bias;
  SavedStatistics statistics;
  RowPlaces x;
  std::int64_t rows;
  std::int64_t width;
  double eps;
  Access access;
};

// In named roundings, which no compiler may fuse in one kernel and not in another: norm_forward and norm_apply must
// give the same bits.
__device__ inline float normalised(float x, float mean, float rstd) {
  return __fmul_rn(__fsub_rn(x, mean), rstd);
}

template <class T, Hold kHold>
__device__ void compute_statistics(const HeldRow<T, kHold>& x, const ForwardShape& shape, std::int64_t row, float& mean,
                                   float& rstd) {
  constexpr int N = kVector<T>;
  const auto sum_of = [&](auto term) {
    float sum = 0.0F;
    for_each_slot<T, kHold>(shape.width, [&](int slot, std::int64_t first, std::int64_t count) {
      float v[N];
      x.get(slot, first, count, v);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (i < count) sum += term(v[i]);
      }
    });
    return sum_over_block(sum);
  };
  const auto n = static_cast<float>(shape.width);
  mean = shape.statistics.mean == nullptr ? 0.0F : sum_of([](float v) { return v; }) / n;
  const float variance = sum_of([mean](float v) { return (v - mean) * (v - mean); }) / n;
  rstd = static_cast<float>(1.0 / sqrt(static_cast<double>(variance) + shape.eps));
  if (threadIdx.x != 0) return;
  if (shape.statistics.mean != nullptr) shape.statistics.mean[row] = mean;
  shape.statistics.rstd[row] = rstd;
}

template <class T, Hold kHold, Statistics kStatistics>
__global__ void __launch_bounds__(kRowThreads<kHold>)
    forward_kernel(T* y, T* x, const T* residual, ForwardShape shape) {
  constexpr int N = kVector<T>;
  HeldRow<T, kHold> held;
  for (std::int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    T* const x_row = x + shape.x.first(row);
    held.read(x_row, shape.width, shape.access);
    if (residual != nullptr) held.add(residual + row * shape.width, x_row, shape.width);
    float mean = 0.0F;
    float rstd = 0.0F;
    if constexpr (kStatistics == Statistics::compute) {
      compute_statistics(held, shape, row, mean, rstd);
    } else {
      if (shape.statistics.mean != nullptr) mean = shape.statistics.mean[row];
      rstd = shape.statistics.rstd[row];
    }
    for_each_slot<T, kHold>(shape.width, [&](int slot, std::int64_t first, std::int64_t count) {
      float v[N];
      float weight[N];
      float bias[N];
      held.get(slot, first, count, v);
      load(shape.weight, first, count, shape.access, weight);
      if (shape.bias.data != nullptr) load(shape.bias, first, count, shape.access, bias);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float h = normalised(v[i], mean, rstd);
        v[i] = shape.bias.data == nullptr ? __fmul_rn(h, weight[i]) : __fmaf_rn(h, weight[i], bias[i]);
      }
      store(y + row * shape.width + first, count, shape.access, v);
    });
  }
}

template <Statistics kStatistics>
void forward(const NormForwardArgs& args, cudaStream_t stream) {
  const std::int64_t rows = args.x_NM.shape[0];
  const std::int64_t width = args.x_NM.shape[1];
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    with_hold(width, [&]<Hold kHold>() {
      const ForwardShape shape{.weight = parameter(args.weight_M),
                               .bias = parameter(args.bias_M),
                               .statistics = statistics_of(args.statistics, rows, args.kind),
                               .x = places_of(args.x_NM),
                               .rows = rows,
                               .width = width,
                               .eps = args.eps,
                               .access = access_of({args.y_NM.data, args.x_NM.data, args.residual_NM.data,
                                                    args.weight_M.data, args.bias_M.data},
                                                   std::gcd(width, args.x_NM.stride), kVector<T>)};
      launch("norm_forward", forward_kernel<T, kHold, kStatistics>, row_shape<kHold>(rows, width, stream),
             args.y_NM.as<T>(), args.x_NM.as<T>(), args.residual_NM.as<const T>(), shape);
    });
  });
}

struct BackwardShape {
  Parameter weight;
  SavedStatistics statistics;
  float* dweight;  // [blocks, 2, width]: of this block's rows, then dbias of them
  bool has_dweight;
  bool has_dbias;
  RowPlaces dx;
  RowPlaces dy;
  RowPlaces x;
  std::int64_t rows;
  std::int64_t width;
  Write write_dx;
  Access access;
};

// The sums over a block's rows: in the registers of the thread that owns the columns, or in its own part of memory.
template <class T, Hold kHold>
class ColumnSum {
 public:
  static constexpr int N = kVector<T>;

  __device__ void begin(float* out, std::int64_t width) {
    out_ = out;
    for_each_slot<T, kHold>(width, [&](int slot, std::int64_t first, std::int64_t count) {
      if constexpr (kHold == Hold::none) {
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
      if constexpr (kHold == Hold::none) {
        if (i < count) out_[first + i] += terms[i];
      } else {
        sum_[slot][i] += terms[i];
      }
    }
  }
  __device__ void end(std::int64_t width, Access access) {
    if constexpr (kHold != Hold::none) {
      for_each_slot<T, kHold>(width, [&](int slot, std::int64_t first, std::int64_t count) {
        store(out_ + first, count, access, sum_[slot]);
      });
    }
  }

 private:
  float* out_ = nullptr;
  float sum_[kSlots<T, kHold>][N];
};

// dx and dy may be the same memory: a thread reads its vectors of a row for the last time before it writes them. With
// h = (x - mean) * rstd and g = dy * weight: dx = rstd * (g - mean(g) - h * mean(g h)), without mean(g) for
// rmsnorm; dweight = sum dy h; dbias = sum dy.
template <class T, Hold kHold>
__global__ void __launch_bounds__(kRowThreads<kHold>)
    backward_kernel(T* dx, const T* dy, const T* x, BackwardShape shape) {
  constexpr int N = kVector<T>;
  const std::int64_t width = shape.width;
  const bool centred = shape.statistics.mean != nullptr;
  HeldRow<T, kHold> x_row;
  HeldRow<T, kHold> dy_row;
  ColumnSum<T, kHold> dweight;
  ColumnSum<T, kHold> dbias;
  float* const partial = shape.dweight + static_cast<std::int64_t>(blockIdx.x) * 2 * width;
  if (shape.has_dweight) dweight.begin(partial, width);
  if (shape.has_dbias) dbias.begin(partial + width, width);
  for (std::int64_t row = blockIdx.x; row < shape.rows; row += gridDim.x) {
    const float mean = centred ? shape.statistics.mean[row] : 0.0F;
    const float rstd = shape.statistics.rstd[row];
    x_row.read(x + shape.x.first(row), width, shape.access);
    dy_row.read(dy + shape.dy.first(row), width, shape.access);
    // g and h of a vector; zero beyond the row.
    const auto terms = [&](int slot, std::int64_t first, std::int64_t count, float(&up)[N], float(&g)[N],
                           float(&h)[N]) {
      dy_row.get(slot, first, count, up);
      x_row.get(slot, first, count, h);
      load(shape.weight, first, count, shape.access, g);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        g[i] *= up[i];
        h[i] = (h[i] - mean) * rstd;
      }
    };
    float sum_g = 0.0F;
    float sum_gh = 0.0F;
    for_each_slot<T, kHold>(width, [&](int slot, std::int64_t first, std::int64_t count) {
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
    const auto n = static_cast<float>(width);
    const float mean_g = centred ? sum_over_block(sum_g) / n : 0.0F;
    const float mean_gh = sum_over_block(sum_gh) / n;
    for_each_slot<T, kHold>(width, [&](int slot, std::int64_t first, std::int64_t count) {
      float up[N];
      float g[N];
      float h[N];
      terms(slot, first, count, up, g, h);
      T* const out = dx + shape.dx.first(row) + first;
      float gradient[N] = {};
      if (shape.write_dx == Write::accumulate) load(out, count, shape.access, gradient);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        gradient[i] += rstd * (g[i] - mean_g - h[i] * mean_gh);
        h[i] *= up[i];
      }
      store(out, count, shape.access, gradient);
      if (shape.has_dweight) dweight.add(slot, first, count, h);
      if (shape.has_dbias) dbias.add(slot, first, count, up);
    });
  }
  if (shape.has_dweight) dweight.end(width, shape.access);
  if (shape.has_dbias) dbias.end(width, shape.access);
}

}  // namespace

void CudaOps::do_norm_forward(const NormForwardArgs& args) {
  forward<Statistics::compute>(args, stream());
}

void CudaOps::do_norm_apply(const NormForwardArgs& args) {
  forward<Statistics::given>(args, stream());
}

void CudaOps::do_norm_backward(const NormBackwardArgs& args) {
  const std::int64_t rows = args.x_NM.shape[0];
  const std::int64_t width = args.x_NM.shape[1];
  const std::int64_t groups = std::min(rows, workspace::norm_row_groups(width));
  auto* const partial = static_cast<float*>(workspace(workspace::norm_backward_bytes(width), "norm_backward"));
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    with_hold(width, [&]<Hold kHold>() {
      const BackwardShape shape{
          .weight = parameter(args.weight_M),
          .statistics = statistics_of(args.statistics, rows, args.kind),
          .dweight = partial,
          .has_dweight = args.dweight_M.defined(),
          .has_dbias = args.dbias_M.defined(),
          .dx = places_of(args.dx_NM),
          .dy = places_of(args.dy_NM),
          .x = places_of(args.x_NM),
          .rows = rows,
          .width = width,
          .write_dx = args.write_dx,
          .access = access_of(
              {args.dx_NM.data, args.dy_NM.data, args.x_NM.data, args.weight_M.data, partial},
              std::gcd(std::gcd(args.dx_NM.stride, args.dy_NM.stride), std::gcd(args.x_NM.stride, width)), kVector<T>)};
      launch("norm_backward", backward_kernel<T, kHold>, row_shape<kHold>(groups, width, stream()), args.dx_NM.as<T>(),
             args.dy_NM.as<const T>(), args.x_NM.as<const T>(), shape);
    });
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
