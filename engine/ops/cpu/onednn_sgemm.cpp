// oneDNN's own sgemm: row-major, threads by the OpenMP runtime that this library uses too. Inside a parallel region it
// runs on the calling thread.
#include <dnnl.h>

#include "engine/core/error.h"
#include "engine/ops/cpu/matmul_provider.h"

namespace perfbench::engine::cpu {
namespace {

void onednn_sgemm(const SgemmArgs& args) {
  const char transpose_a = args.transpose_a == Transpose::yes ? 'T' : 'N';
  const char transpose_b = args.transpose_b == Transpose::yes ? 'T' : 'N';
  const float beta = args.write == Write::accumulate ? 1.0F : 0.0F;
  const auto status = dnnl_sgemm(transpose_a, transpose_b, args.m, args.n, args.k, 1.0F, args.a, args.a_stride, args.b,
                                 args.b_stride, beta, args.c, args.c_stride);
  if (status != dnnl_success) {
    throw LogicFault("dnnl_sgemm(" + std::to_string(args.m) + ", " + std::to_string(args.n) + ", " +
                     std::to_string(args.k) + ") failed with status " + std::to_string(status));
  }
}

std::string onednn_version() {
  const auto* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

}  // namespace

const MatmulProvider* onednn_provider() {
  static const MatmulProvider provider{"onednn", onednn_sgemm, onednn_version};
  return &provider;
}

}  // namespace perfbench::engine::cpu
