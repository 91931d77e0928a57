// One warp takes one row: the lanes walk it side by side, and their partial results are combined in a fixed order.
#include "engine/ops/cuda/attention/masked_softmax.h"
#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch.cuh"
#include "engine/ops/cuda/device/launch_shapes.h"
#include "engine/ops/cuda/device/reductions.cuh"

namespace perfbench::engine::cuda {
namespace {

constexpr int kRowsPerBlock = 4;

// The row of the calling warp, if it has one.
struct Place {
  std::int64_t head;
  std::int64_t row;
};
__device__ Place place_of_warp() {
  return {.head = blockIdx.y, .row = static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / kWarp};
}

// The keys that a row sees.
struct VisibleKeys {
  std::int64_t begin;
  std::int64_t end;
  __device__ bool have(std::int64_t key) const { return key >= begin && key < end; }
};
__device__ VisibleKeys visible_keys(const ScoreRows& shape, std::int64_t row) {
  const std::int64_t place = shape.first_row + row;
  return {shape.first_T == nullptr ? 0 : shape.first_T[place], place + 1};
}

template <class T, bool kHasBias>
__global__ void forward_kernel(SoftmaxForwardArgs args) {
  const auto [head, row] = place_of_warp();
  if (row >= args.shape.rows) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const VisibleKeys visible = visible_keys(args.shape, row);
  const float* const scores = args.scores + head * args.scores_head_stride + row * args.shape.seq_len;
  T* const weights = static_cast<T*>(args.weights.data) + head * args.weights.head_stride + row * args.shape.seq_len;
  // The bias of the first key; that of key i is i elements earlier.
  const float* const bias = kHasBias ? args.bias + head * args.bias_head_stride + visible.end - 1 : nullptr;
  const auto score = [&](std::int64_t i) {
    if constexpr (kHasBias) return scores[i] + bias[-i];
    return scores[i];
  };
  float maximum = -INFINITY;
  for (std::int64_t i = visible.begin + lane; i < visible.end; i += kWarp) maximum = fmaxf(maximum, score(i));
  maximum = over_warp(maximum, Maximum{});
  float sum = 0;
  for (std::int64_t i = visible.begin + lane; i < visible.end; i += kWarp) sum += expf(score(i) - maximum);
  sum = over_warp(sum, Sum{});
  const float factor = 1.0F / sum;
  // From here on every lane reads and writes only its own elements, so scores and weights may share memory.
  for (std::int64_t i = lane; i < args.shape.seq_len; i += kWarp) {
    weights[i] = from_f32<T>(visible.have(i) ? expf(score(i) - maximum) * factor : 0.0F);
  }
  if (lane == 0) args.logsumexp[head * args.logsumexp_head_stride + row] = maximum + logf(sum);
}

template <class T>
__global__ void backward_kernel(SoftmaxBackwardArgs args) {
  const Place place = place_of_warp();
  const std::int64_t row = place.row;
  if (row >= args.shape.rows) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const VisibleKeys visible = visible_keys(args.shape, row);
  const auto kept = [&](const KeptRows& rows) {
    return static_cast<T*>(rows.data) + place.head * rows.head_stride + row * args.shape.seq_len;
  };
  const float* const dweights = args.dweights + place.head * args.dweights_head_stride + row * args.shape.seq_len;
  const T* const weights = kept(args.weights);
  T* const dscores = kept(args.dscores);
  float sum = 0;
  for (std::int64_t i = visible.begin + lane; i < visible.end; i += kWarp) sum += to_f32(weights[i]) * dweights[i];
  sum = over_warp(sum, Sum{});
  for (std::int64_t i = lane; i < args.shape.seq_len; i += kWarp) {
    dscores[i] = from_f32<T>(visible.have(i) ? to_f32(weights[i]) * (dweights[i] - sum) : 0.0F);
  }
}

LaunchShape launch_shape(const ScoreRows& shape, cudaStream_t stream) {
  return {.grid = dim3(static_cast<unsigned>(divide_up(shape.rows, kRowsPerBlock)), static_cast<unsigned>(shape.heads)),
          .block = dim3(kRowsPerBlock * kWarp),
          .stream = stream};
}

}  // namespace

void masked_softmax_forward(const SoftmaxForwardArgs& args, cudaStream_t stream) {
  with_element_type(args.weights.dtype, [&]<class T>() {
    launch("masked_softmax_forward", args.bias != nullptr ? forward_kernel<T, true> : forward_kernel<T, false>,
           launch_shape(args.shape, stream), args);
  });
}

void masked_softmax_backward(const SoftmaxBackwardArgs& args, cudaStream_t stream) {
  launch("masked_softmax_backward", args.dscores.dtype == DType::bf16 ? backward_kernel<Bf16> : backward_kernel<float>,
         launch_shape(args.shape, stream), args);
}

}  // namespace perfbench::engine::cuda
