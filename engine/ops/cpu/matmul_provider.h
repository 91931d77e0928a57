// The libraries that compute fp32 matrix products. A library that was not found at configuration is replaced by a file
// that returns nullptr.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/ops/ops.h"

namespace perfbench::engine::cpu {

// c[m, n] = factor * op(a)[m, k] op(b)[k, n] + (write == accumulate ? c : 0). Row-major; strides in elements.
struct SgemmArgs {
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const float* a = nullptr;
  std::int64_t a_stride = 0;
  const float* b = nullptr;
  std::int64_t b_stride = 0;
  float* c = nullptr;
  std::int64_t c_stride = 0;
  Write write = Write::overwrite;
  float factor = 1.0F;
};

struct MatmulProvider {
  std::string name;  // "onednn", "openblas" or "own"
  void (*sgemm)(const SgemmArgs& args) = nullptr;
  std::string (*version)() = nullptr;
};

// nullptr if the library is not built in.
const MatmulProvider* onednn_provider();
const MatmulProvider* openblas_provider();
const MatmulProvider& own_provider();

// The providers that are built in, the fastest first.
std::span<const MatmulProvider> matmul_providers();
// The provider that PERFBENCH_BLAS names; for AUTO the first one.
const MatmulProvider& matmul_provider();

}  // namespace perfbench::engine::cpu
