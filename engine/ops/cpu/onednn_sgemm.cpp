#include <dnnl.h>

#include "engine/core/error.h"
#include "engine/ops/cpu/sgemm.h"

namespace perfbench::engine::cpu {

void sgemm(const SgemmArgs& args) {
  const auto status = dnnl_sgemm(args.transpose_a ? 'T' : 'N', args.transpose_b ? 'T' : 'N', args.m, args.n, args.k,
                                 1.0F, args.a, args.lda, args.b, args.ldb, args.beta, args.c, args.ldc);
  if (status != dnnl_success) {
    throw LogicFault("dnnl_sgemm refused m " + std::to_string(args.m) + " n " + std::to_string(args.n) + " k " +
                     std::to_string(args.k) + ": status " + std::to_string(static_cast<int>(status)));
  }
}

std::map<std::string, std::string> sgemm_library() {
  const dnnl_version_t* v = dnnl_version();
  return {{"oneDNN", std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch)}};
}

}  // namespace perfbench::engine::cpu
