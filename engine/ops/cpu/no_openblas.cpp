#include "engine/ops/cpu/matmul_provider.h"

namespace perfbench::engine::cpu {

const MatmulProvider* openblas_provider() {
  return nullptr;
}

}  // namespace perfbench::engine::cpu
