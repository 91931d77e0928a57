// The absent twin of nccl_collectives.cpp.
#include "engine/core/error.h"
#include "engine/parallel/cuda/nccl_collectives.h"

namespace perfbench::engine {

std::unique_ptr<Collectives> make_nccl_collectives(const Mesh&, std::span<const Declared>, const CudaDevice&,
                                                   Processes&, const NcclOptions&) {
  throw EngineError(
      EngineExit::infeasible,
      "device cuda: this perfbench-engine was built without NCCL and runs on one GPU only; install NCCL's "
      "development files and build again");
}

std::string nccl_version() {
  return "absent";
}

}  // namespace perfbench::engine
