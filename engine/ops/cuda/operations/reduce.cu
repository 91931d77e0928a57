// Sums of whole tensors in f64: each block over its vectors, then over a tensor's blocks, then over the tensors. Column
// sums in f32: over groups of rows, then over the groups. The shapes fix both orders.
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/flat.cuh"
#include "engine/ops/cuda/device/operand_list.cuh"
#include "engine/ops/cuda/device/reductions.cuh"
#include "engine/ops/cuda/operations/column_sums.h"
#include "engine/ops/workspace.h"

namespace perfbench::engine::cuda {
namespace {

struct Identity {
  __device__ double operator()(double v) const { return v; }
};
struct Square {
  __device__ double operator()(double v) const { return v * v; }
};

template <class T>
struct SummedTensor {
  const T* x;
  std::int64_t elements;
  Access access;
};

template <class T, class Term>
__global__ void sum_kernel(double* of_blocks, const __grid_constant__ OperandList<SummedTensor<T>> tensors) {
  constexpr int N = kVector<T>;
  const OperandBlock mine = operand_of_block(tensors);
  const SummedTensor<T>& t = tensors.operands[mine.operand];
  double sum = 0.0;
  for_each_vector<N>(t.elements, mine.block, mine.blocks, [&](std::int64_t first, std::int64_t count) {
    float v[N];
    load(t.x + first, count, t.access, v);  // the zeros beyond the end do not change the sum
#pragma unroll
    for (int i = 0; i < N; ++i) sum += Term{}(static_cast<double>(v[i]));
  });
  sum = sum_over_block(sum);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = sum;
}

// One block: a warp sums the blocks of a tensor, then one thread adds the tensors in order.
template <class T>
__global__ void total_kernel(double* out, const double* of_blocks,
                             const __grid_constant__ OperandList<SummedTensor<T>> tensors, Write write) {
  PERFBENCH_SHARED(double, of_tensors, OperandList<SummedTensor<T>>::kMost);
  const auto lane = static_cast<unsigned>(threadIdx.x) % kWarp;
  for (int t = static_cast<int>(threadIdx.x) / kWarp; t < tensors.count; t += static_cast<int>(blockDim.x) / kWarp) {
    double sum = 0.0;
    for (unsigned b = (t == 0 ? 0 : tensors.ends[t - 1]) + lane; b < tensors.ends[t]; b += kWarp) sum += of_blocks[b];
    sum = over_warp(sum, Sum{});
    if (lane == 0) of_tensors[t] = sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  double sum = write == Write::accumulate ? *out : 0.0;
  for (int t = 0; t < tensors.count; ++t) sum += of_tensors[t];
  *out = sum;
}

template <class Term>
void total(const TensorView& out, std::span<const TensorView> tensors, Write write, double* of_blocks,
           cudaStream_t stream) {
  in_lists(tensors, [&](std::span<const TensorView> part) {
    with_element_type(part.front().dtype, [&]<class T>() {
      OperandList<SummedTensor<T>> list;
      for (const auto& x : part) {
        list.add({x.as<const T>(), x.elements(), access_of({x.data}, 0, 1)},
                 std::min(flat_blocks(x.elements(), kVector<T>), static_cast<unsigned>(workspace::kSumBlocks)));
      }
      launch("sum", sum_kernel<T, Term>, {.grid = list.blocks(), .block = kFlatThreads, .stream = stream}, of_blocks,
             list);
      const auto warps = static_cast<unsigned>(std::min(list.count, kMostThreads / kWarp));
      launch("sum_total", total_kernel<T>, {.grid = 1, .block = warps * kWarp, .stream = stream}, out.as<double>(),
             of_blocks, list, write);
    });
    write = Write::accumulate;
  });
}

// A block takes 32 vectors of columns of one group of rows, which its warps divide among them.
constexpr int kRowLanes = 8;

template <class T>
__global__ void bias_kernel(float* partial, const T* dy, RowExtent dy_extent, std::int64_t stride, Access access) {
  const auto [rows, width] = dy_extent;
  constexpr int N = kVector<T>;
  PERFBENCH_SHARED(float, of_lanes, kRowLanes* kWarp* N);
  const auto column = static_cast<int>(threadIdx.x);
  const auto lane = static_cast<int>(threadIdx.y);
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kWarp + column) * N;
  const std::int64_t count = width - first;
  float sum[N] = {};
  if (count > 0) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kRowLanes;
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kRowLanes + lane; row < rows; row += step) {
      float v[N];
      load(dy + row * stride + first, count, access, v);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += v[i];
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) of_lanes[(lane * N + i) * kWarp + column] = sum[i];
  __syncthreads();
  if (lane != 0 || count <= 0) return;
  for (int other = 1; other < kRowLanes; ++other) {
#pragma unroll
    for (int i = 0; i < N; ++i) sum[i] += of_lanes[(other * N + i) * kWarp + column];
  }
  store(partial + blockIdx.y * width + first, count, access, sum);
}

}  // namespace

void CudaOps::do_sum(TensorView out_f64, TensorView x, Write write) {
  auto* const of_blocks = static_cast<double*>(workspace(workspace::sum_bytes(1), "sum"));
  total<Identity>(out_f64, {&x, 1}, write, of_blocks, stream());
}

void CudaOps::do_sum_of_squares(TensorView out_f64, std::span<const TensorView> tensors, Write write) {
  const auto bytes = workspace::sum_bytes(static_cast<std::int64_t>(tensors.size()));
  total<Square>(out_f64, tensors, write, static_cast<double*>(workspace(bytes, "sum_of_squares")), stream());
}

void CudaOps::do_read_f64(std::span<double> to, TensorView values) {
  mailbox_.read(to, values.as<const double>(), stream());
}

void CudaOps::do_bias_backward(TensorView dbias, RowsView dy, Write write) {
  const std::int64_t rows = dy.shape[0];
  const std::int64_t width = dy.shape[1];
  const std::int64_t groups = std::clamp<std::int64_t>(divide_up(rows, kRowLanes), 1, workspace::kBiasRowGroups);
  auto* const partial = static_cast<float*>(workspace(workspace::bias_backward_bytes(width), "bias_backward"));
  with_element_type(dy.dtype, [&]<class T>() {
    const auto columns = static_cast<unsigned>(divide_up(width, kWarp * kVector<T>));
    launch("bias_backward", bias_kernel<T>,
           {.grid = {columns, static_cast<unsigned>(groups)}, .block = {kWarp, kRowLanes}, .stream = stream()}, partial,
           dy.as<const T>(), RowExtent{rows, width}, dy.stride,
           access_of({dy.data, partial}, std::gcd(width, dy.stride), kVector<T>));
  });
  sum_groups(
      {.out = dbias.as<float>(), .partial = partial, .groups = groups, .stride = width, .width = width, .write = write},
      stream());
}

}  // namespace perfbench::engine::cuda
