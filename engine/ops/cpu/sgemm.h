// f32 matrix products of the library this build found. One file per library implements it; own_sgemm.cpp needs none.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace perfbench::engine::cpu {

struct SgemmArgs {
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const float* a = nullptr;  // row-major [m, k], or [k, m] transposed; rows lda apart
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  float beta = 0;  // c = op(a) op(b) + beta c; with 0 c is not read
  float* c = nullptr;
  std::int64_t ldc = 0;
};

// Uses all threads, or only the calling one inside a parallel region. The same call gives the same bits; another number
// of threads may not.
void sgemm(const SgemmArgs& args);

// Library -> version.
std::map<std::string, std::string> sgemm_library();

}  // namespace perfbench::engine::cpu
