#include "engine/ops/cuda/device/elements.cuh"
#include "engine/ops/cuda/device/launch.cuh"
#include "engine/ops/cuda/operations/add_bias.h"

namespace perfbench::engine::cuda {
namespace {

constexpr unsigned kThreads = 256;

template <class T>
__global__ void add_bias_kernel(float* c, const T* bias, std::int64_t elements, std::int64_t columns) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < elements) c[i] += to_f32(bias[i % columns]);
}

}  // namespace

void add_bias(const TensorView& c, const TensorView& bias_n, cudaStream_t stream) {
  if (c.elements() == 0) return;
  const LaunchShape shape{.grid = dim3(static_cast<unsigned>((c.elements() + kThreads - 1) / kThreads)),
                          .block = dim3(kThreads),
                          .stream = stream};
  if (bias_n.dtype == DType::bf16) {
    launch("add_bias", add_bias_kernel<Bf16>, shape, c.as<float>(), bias_n.as<const Bf16>(), c.elements(), c.shape[1]);
  } else {
    launch("add_bias", add_bias_kernel<float>, shape, c.as<float>(), bias_n.as<const float>(), c.elements(),
           c.shape[1]);
  }
}

}  // namespace perfbench::engine::cuda
