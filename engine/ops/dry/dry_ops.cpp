#include "engine/ops/dry/dry_ops.h"

namespace perfbench::engine {

std::unique_ptr<Ops> make_dry_ops() {
  return std::make_unique<DryOps>();
}

}  // namespace perfbench::engine
