// The twin of engine/ops/cuda/matmul_provider.cpp: plain loops in the place of cuBLASLt.
#include "engine/ops/cuda/matmul_provider.h"

#include <algorithm>
#include <vector>

#include "engine/ops/cuda/elements.cuh"

namespace perfbench::engine::cuda {
namespace {

float at(const Matrix& x, std::int64_t i) {
  return x.dtype == DType::bf16 ? to_f32(static_cast<const Bf16*>(x.data)[i]) : static_cast<const float*>(x.data)[i];
}

void set(const Matrix& x, std::int64_t i, float value) {
  if (x.dtype == DType::bf16) {
    static_cast<Bf16*>(x.data)[i] = from_f32<Bf16>(value);
  } else {
    static_cast<float*>(x.data)[i] = value;
  }
}

// One product of the batch, row by row, with the row's sums in f32.
void multiply(const Product& p, std::int64_t number) {
  const bool ta = p.transpose_a == Transpose::yes;
  const bool tb = p.transpose_b == Transpose::yes;
  const auto first = [&](const Matrix& x) { return number * x.batch_stride; };
  const Matrix bias{const_cast<void*>(p.bias_n), p.c.dtype};
  std::vector<float> sums(static_cast<std::size_t>(p.n));
  for (std::int64_t i = 0; i < p.m; ++i) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::int64_t l = 0; l < p.k; ++l) {
      const float x = at(p.a, first(p.a) + (ta ? l * p.a.row_stride + i : i * p.a.row_stride + l));
      for (std::int64_t j = 0; j < p.n; ++j) {
        sums[static_cast<std::size_t>(j)] +=
            x * at(p.b, first(p.b) + (tb ? j * p.b.row_stride + l : l * p.b.row_stride + j));
      }
    }
    for (std::int64_t j = 0; j < p.n; ++j) {
      const std::int64_t to = first(p.c) + i * p.c.row_stride + j;
      float sum = p.factor * sums[static_cast<std::size_t>(j)];
      if (p.write == Write::accumulate) sum += at(p.c, to);
      if (p.bias_n != nullptr) sum += at(bias, j);
      set(p.c, to, sum);
    }
  }
}

__global__ void multiply_kernel(Product product) {
  for (std::int64_t i = 0; i < product.batch; ++i) multiply(product, i);
}

}  // namespace

class MatmulProvider::Implementation {
 public:
  explicit Implementation(cudaStream_t on) : stream(on) {}
  cudaStream_t stream;
};

MatmulProvider::MatmulProvider(const CudaDevice& device, F32Products)
    : implementation_(std::make_unique<Implementation>(device.compute())) {}

MatmulProvider::~MatmulProvider() = default;

// The scratch is written, as a library would, but not all of its megabytes.
void MatmulProvider::run(const Product& product, const ProductScratch& scratch) {
  if (scratch.bytes > 0) {
    constexpr std::int64_t kWritten = 4096;
    cuda_check(cudaMemsetAsync(scratch.data, 0xFF, static_cast<std::size_t>(std::min(scratch.bytes, kWritten)),
                               implementation_->stream),
               "cudaMemsetAsync");
  }
  launch("plain_matmul", multiply_kernel, {.grid = 1, .block = 1, .stream = implementation_->stream}, product);
}

std::string MatmulProvider::version() {
  return "emulated";
}

}  // namespace perfbench::engine::cuda
