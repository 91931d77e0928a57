// RMSNorm and LayerNorm, forward: a row stays in registers between its sums and its result. Backward: norm_backward.cu.
#include <numeric>

#include "engine/ops/cuda/operations/norm_operands.cuh"

namespace perfbench::engine::cuda {
namespace {

// The vectors of a row that a thread keeps in registers. One warp then holds a row of up to 1024 f32 or 2048 bf16, and
// its sums need no barrier.
constexpr int kHeldVectors = 8;
constexpr unsigned kRowsOfBlock = 4;  // one warp each

enum class StatisticsSource { compute, given };

struct ForwardShape {
  Parameter weight;
  Parameter bias;
  NormStatistics statistics;
  RowPlaces x;
  std::int64_t rows;
  std::int64_t width;
  float eps;
};

// Uses intrinsics with explicit rounding, which no compiler may fuse in one kernel and not in another: norm_forward and
// norm_apply must give the same bits.
__device__ inline float normalised(float x, float mean, float rstd) {
  return __fmul_rn(__fsub_rn(x, mean), rstd);
}
__device__ inline float scaled(float h, float weight, const Parameter& bias, float bias_value) {
  return bias.data == nullptr ? __fmul_rn(h, weight) : __fmaf_rn(h, weight, bias_value);
}

// 1 / sqrt(variance + eps) in f32: both roundings together cause an error below one unit in the last place. In f64 it
// would take a hundred instructions in every thread.
__device__ inline float inverse_deviation(float variance, float eps) {
  return __frsqrt_rn(__fadd_rn(variance, eps));
}

template <class T, int kSlots, Access kAccess>
__device__ void compute_statistics(HeldRow<T, kSlots, kAccess>& x, const ForwardShape& shape, std::int64_t row,
                                   float& mean, float& rstd) {
  constexpr int N = kVector<T>;
  const auto sum_of = [&](auto term) {
    float sum = 0.0F;
    for_each_slot<T, kSlots, kAccess>(shape.width, [&](int slot, std::int64_t first, std::int64_t count) {
      float v[N];
      x.get(slot, first, count, v);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (i < count) sum += term(v[i]);
      }
    });
    x.forget();
    return sum_over_block(sum);
  };
  const auto n = static_cast<float>(shape.width);
  mean = shape.statistics.mean == nullptr ? 0.0F : sum_of([](float v) { return v; }) / n;
  const float variance = sum_of([mean](float v) { return (v - mean) * (v - mean); }) / n;
  rstd = inverse_deviation(variance, shape.eps);
  if (threadIdx.x != 0) return;
  if (shape.statistics.mean != nullptr) shape.statistics.mean[row] = mean;
  shape.statistics.rstd[row] = rstd;
}

template <class T, int kSlots, Access kAccess, StatisticsSource kSource>
__global__ void __launch_bounds__(kMostRowThreads) forward_kernel(T* y, T* x, const T* residual, ForwardShape shape) {
  constexpr int N = kVector<T>;
  HeldRow<T, kSlots, kAccess> held;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.y;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; row < shape.rows;
       row += step) {
    T* const x_row = x + shape.x.first(row);
    if (residual == nullptr) {
      held.read(x_row, shape.width);
    } else {
      held.read_sum(x_row, residual + row * shape.width, shape.width);
    }
    float mean = 0.0F;
    float rstd = 0.0F;
    if constexpr (kSource == StatisticsSource::compute) {
      compute_statistics(held, shape, row, mean, rstd);
    } else {
      if (shape.statistics.mean != nullptr) mean = shape.statistics.mean[row];
      rstd = shape.statistics.rstd[row];
    }
    for_each_slot<T, kSlots, kAccess>(shape.width, [&](int slot, std::int64_t first, std::int64_t count) {
      float v[N];
      float weight[N];
      float bias[N] = {};
      held.get(slot, first, count, v);
      load(shape.weight, first, count, kAccess, weight);
      if (shape.bias.data != nullptr) load(shape.bias, first, count, kAccess, bias);
#pragma unroll
      for (int i = 0; i < N; ++i) v[i] = scaled(normalised(v[i], mean, rstd), weight[i], shape.bias, bias[i]);
      store(y + row * shape.width + first, count, kAccess, v);
    });
  }
}

template <StatisticsSource kSource>
void forward(const NormForwardArgs& args, cudaStream_t stream) {
  const std::int64_t rows = args.x_NM.shape[0];
  const std::int64_t width = args.x_NM.shape[1];
  const ForwardShape shape{.weight = parameter(args.weight_M),
                           .bias = parameter(args.bias_M),
                           .statistics = statistics_of(args.statistics, rows, args.kind),
                           .x = places_of(args.x_NM),
                           .rows = rows,
                           .width = width,
                           .eps = static_cast<float>(args.eps)};
  with_element_type(args.x_NM.dtype, [&]<class T>() {
    const auto run = [&](auto kernel, int slots) {
      const unsigned threads = threads_of_row<T>(width, slots);
      const unsigned together = threads == kWarp ? kRowsOfBlock : 1;
      const LaunchShape blocks{
          .grid = row_blocks(divide_up(rows, std::int64_t{together})), .block = {threads, together}, .stream = stream};
      launch("norm_forward", kernel, blocks, args.y_NM.as<T>(), args.x_NM.as<T>(), args.residual_NM.as<const T>(),
             shape);
    };
    const Access access =
        access_of({args.y_NM.data, args.x_NM.data, args.residual_NM.data, args.weight_M.data, args.bias_M.data},
                  std::gcd(width, args.x_NM.stride), kVector<T>);
    with_access(access, [&]<Access kAccess>() {
      if (width <= widest_row<T>(kHeldVectors)) {
        run(forward_kernel<T, kHeldVectors, kAccess, kSource>, kHeldVectors);
      } else {
        run(forward_kernel<T, kAnyNumber, kAccess, kSource>, kAnyNumber);
      }
    });
  });
}

}  // namespace

void CudaOps::do_norm_forward(const NormForwardArgs& args) {
  forward<StatisticsSource::compute>(args, stream());
}

void CudaOps::do_norm_apply(const NormForwardArgs& args) {
  forward<StatisticsSource::given>(args, stream());
}

}  // namespace perfbench::engine::cuda
