// OpenBLAS in its OpenMP build: the pthread build would keep a second pool of spinning threads beside ours.
#include <cblas.h>

#include "engine/ops/cpu/matmul_provider.h"

namespace perfbench::engine::cpu {
namespace {

void openblas_sgemm(const SgemmArgs& args) {
  const auto transpose = [](Transpose t) { return t == Transpose::yes ? CblasTrans : CblasNoTrans; };
  const auto size = [](std::int64_t n) { return static_cast<blasint>(n); };
  cblas_sgemm(CblasRowMajor, transpose(args.transpose_a), transpose(args.transpose_b), size(args.m), size(args.n),
              size(args.k), args.factor, args.a, size(args.a_stride), args.b, size(args.b_stride),
              args.write == Write::accumulate ? 1.0F : 0.0F, args.c, size(args.c_stride));
}

// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...", followed by the selected kernel.
std::string openblas_version() {
  return std::string(openblas_get_config());
}

}  // namespace

const MatmulProvider* openblas_provider() {
  static const MatmulProvider provider{"openblas", openblas_sgemm, openblas_version};
  return &provider;
}

}  // namespace perfbench::engine::cpu
