#include "engine/ops/cpu/matmul_provider.h"

namespace perfbench::engine::cpu {

const MatmulProvider* onednn_provider() {
  return nullptr;
}

}  // namespace perfbench::engine::cpu
