// The twin of engine/ops/cuda/matmul/matmul_provider.cpp: plain loops in place of cuBLASLt.
#include "engine/ops/cuda/matmul/matmul_provider.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/float8.h"
#include "engine/cuda/cuda_event.h"
#include "engine/ops/cuda/device/elements.cuh"

namespace perfbench::engine::cuda {
namespace {

float at(const Matrix& x, std::int64_t i) {
  if (is_float8(x.dtype)) return float8_value(float8_format(x.dtype), static_cast<const std::uint8_t*>(x.data)[i]);
  return x.dtype == DType::bf16 ? to_f32(static_cast<const Bf16*>(x.data)[i]) : static_cast<const float*>(x.data)[i];
}

void set(const Matrix& x, std::int64_t i, float value) {
  if (x.dtype == DType::bf16) {
    static_cast<Bf16*>(x.data)[i] = from_f32<Bf16>(value);
  } else {
    static_cast<float*>(x.data)[i] = value;
  }
}

double gelu_tanh(double x) {
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double gelu_tanh_slope(double x) {
  const double root = std::sqrt(2.0 / std::numbers::pi);
  const double t = std::tanh(root * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * root * (1.0 + 3.0 * 0.044715 * x * x);
}

// As cuBLASLt's GELU_AUX and DGELU: the kept pre-activation is rounded, but gelu uses the unrounded value.
float with_epilogue(const Product& p, std::int64_t i, float sum) {
  const Matrix kept{p.preactivation, p.c.dtype};
  switch (p.epilogue) {
    case Epilogue::none:
      return sum;
    case Epilogue::gelu_tanh:
      set(kept, i, sum);
      return static_cast<float>(gelu_tanh(static_cast<double>(sum)));
    case Epilogue::gelu_tanh_gradient:
      return static_cast<float>(static_cast<double>(sum) * gelu_tanh_slope(static_cast<double>(at(kept, i))));
  }
  return sum;
}

// One product of the batch, row by row, with the row's sums in f32.
void multiply(const Product& p, std::int64_t number) {
  const bool ta = p.transpose_a == Transpose::yes;
  const bool tb = p.transpose_b == Transpose::yes;
  const auto first = [&](const Matrix& x) { return number * x.batch_stride; };
  // The library accepts only these.
  if (is_float8(p.a.dtype) && (ta || !tb)) throw LogicFault("rows of 8-bit operands are not along k");
  const float scale = is_float8(p.a.dtype) ? *p.inverse_scale_a * *p.inverse_scale_b : 1.0F;
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
      float sum = p.factor * scale * sums[static_cast<std::size_t>(j)];
      if (p.write == Write::accumulate) sum += at(p.c, to);
      if (p.bias_n != nullptr) sum += at(bias, j);
      set(p.c, to, with_epilogue(p, to, sum));
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

  // Nothing is measured in a recording: a problem first met there would get an algorithm without a measurement.
  void meet(const Product& product, std::int64_t scratch_bytes) {
    const auto key = [&](const Product& p) { return key_of(p, F32Products::exact, scratch_bytes); };
    if (is_captured(stream) && !met_.contains(key(product))) {
      throw LogicFault("a product is met in a recording first: " + to_text(key(product)));
    }
    met_.insert(key(product));
    if (product.additions == Additions::none) return;
    auto addition = product;
    addition.write = Write::accumulate;
    met_.insert(key(addition));
  }

  cudaStream_t stream;

 private:
  std::set<ProductKey> met_;
};

MatmulProvider::MatmulProvider(const CudaDevice& device, F32Products)
    : implementation_(std::make_unique<Implementation>(device.compute())) {}

MatmulProvider::~MatmulProvider() = default;

// The library may have no epilogue for a problem; this twin has none for sums of one term.
bool MatmulProvider::has_epilogue(const Product& product, const ProductScratch&) {
  return product.k > 1;
}

// Writes to the scratch memory as a library would, but not to all of its megabytes.
void MatmulProvider::run(const Product& product, const ProductScratch& scratch) {
  implementation_->meet(product, scratch.bytes);
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
