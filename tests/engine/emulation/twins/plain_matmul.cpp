#include <vector>

#include "engine/ops/cuda/elements.cuh"
#include "tests/engine/emulation/twins/plain_providers.h"

namespace perfbench::engine::cuda {
namespace {

float at(const TensorView& t, std::int64_t i) {
  return t.dtype == DType::bf16 ? to_f32(t.as<const Bf16>()[i]) : t.as<const float>()[i];
}

void set(const TensorView& t, std::int64_t i, float value) {
  if (t.dtype == DType::bf16) {
    t.as<Bf16>()[i] = from_f32<Bf16>(value);
  } else {
    t.as<float>()[i] = value;
  }
}

// Row by row, with the row's sums in f32.
__global__ void multiply_kernel(MatmulArgs args) {
  const bool ta = args.transpose_a == Transpose::yes;
  const bool tb = args.transpose_b == Transpose::yes;
  const std::int64_t m = args.c.shape[0];
  const std::int64_t n = args.c.shape[1];
  const std::int64_t k = args.a.shape[ta ? 0 : 1];
  std::vector<float> sums(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < m; ++i) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::int64_t l = 0; l < k; ++l) {
      const float x = at(args.a, ta ? l * m + i : i * k + l);
      for (std::int64_t j = 0; j < n; ++j)
        sums[static_cast<std::size_t>(j)] += x * at(args.b, tb ? j * k + l : l * n + j);
    }
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = sums[static_cast<std::size_t>(j)];
      if (args.write == Write::accumulate) sum += at(args.c, i * n + j);
      if (args.bias_n.defined()) sum += at(args.bias_n, j);
      set(args.c, i * n + j, sum);
    }
  }
}

}  // namespace

void MatmulProvider::multiply(const MatmulArgs& args, cudaStream_t stream) {
  launch("plain_matmul", multiply_kernel, {.grid = 1, .block = 1, .stream = stream}, args);
}

}  // namespace perfbench::engine::cuda
