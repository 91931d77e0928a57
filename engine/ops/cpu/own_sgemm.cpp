// Matrix products without a library, for nodes that have only a compiler: rows of c over threads, b and a packed in
// blocks that stay in the caches, the innermost loop over a row of c.
#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/ops/cpu/sgemm.h"

namespace perfbench::engine::cpu {
namespace {

constexpr std::int64_t kRows = 8;       // of c at once: each element of b is used for all of them
constexpr std::int64_t kDepth = 256;    // of the sum per block
constexpr std::int64_t kColumns = 512;  // of c per block: kDepth x kColumns floats of b are 512 KiB

struct Block {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// b's [depth, columns] block, row-major and contiguous.
void pack_b(const SgemmArgs& args, Block depth, Block columns, std::vector<float>& packed) {
  packed.resize(static_cast<std::size_t>(kDepth * kColumns));
  for (std::int64_t p = 0; p < depth.count; ++p) {
    float* row = packed.data() + p * kColumns;
    const std::int64_t k = depth.first + p;
    for (std::int64_t j = 0; j < columns.count; ++j) {
      const std::int64_t n = columns.first + j;
      row[j] = args.transpose_b ? args.b[n * args.ldb + k] : args.b[k * args.ldb + n];
    }
  }
}

void multiply_rows(const SgemmArgs& args, Block rows, Block depth, Block columns, const float* b) {
  float sums[kRows][64];
  constexpr std::int64_t kTile = 64;
  for (std::int64_t j0 = 0; j0 < columns.count; j0 += kTile) {
    const std::int64_t width = std::min(kTile, columns.count - j0);
    for (auto& row : sums) std::memset(row, 0, sizeof row);
    for (std::int64_t p = 0; p < depth.count; ++p) {
      const float* b_row = b + p * kColumns + j0;
      const std::int64_t k = depth.first + p;
      for (std::int64_t r = 0; r < rows.count; ++r) {
        const std::int64_t m = rows.first + r;
        const float a = args.transpose_a ? args.a[k * args.lda + m] : args.a[m * args.lda + k];
        for (std::int64_t j = 0; j < width; ++j) sums[r][j] += a * b_row[j];
      }
    }
    for (std::int64_t r = 0; r < rows.count; ++r) {
      float* c = args.c + (rows.first + r) * args.ldc + columns.first + j0;
      for (std::int64_t j = 0; j < width; ++j) c[j] += sums[r][j];
    }
  }
}

void scale_c(const SgemmArgs& args) {
#pragma omp parallel for
  for (std::int64_t m = 0; m < args.m; ++m) {
    float* c = args.c + m * args.ldc;
    for (std::int64_t n = 0; n < args.n; ++n) c[n] = args.beta == 0.0F ? 0.0F : c[n] * args.beta;
  }
}

}  // namespace

void sgemm(const SgemmArgs& args) {
  if (args.beta != 1.0F) scale_c(args);
  std::vector<float> packed;
  for (std::int64_t n = 0; n < args.n; n += kColumns) {
    const Block columns{n, std::min(kColumns, args.n - n)};
    for (std::int64_t k = 0; k < args.k; k += kDepth) {
      const Block depth{k, std::min(kDepth, args.k - k)};
      pack_b(args, depth, columns, packed);
#pragma omp parallel for
      for (std::int64_t m = 0; m < args.m; m += kRows) {
        multiply_rows(args, {m, std::min(kRows, args.m - m)}, depth, columns, packed.data());
      }
    }
  }
}

std::map<std::string, std::string> sgemm_library() {
  return {{"matrix products", "own kernel"}};
}

}  // namespace perfbench::engine::cpu
