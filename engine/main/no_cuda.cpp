// Stands in for cuda_backend.cpp in builds without CUDA.
#include "engine/core/error.h"
#include "engine/main/backend.h"

namespace perfbench::engine {

Backend make_cuda_backend(const spec::RunSpec&, Processes*) {
  throw EngineError(EngineExit::infeasible,
                    "device cuda: this perfbench-engine was built without CUDA; build it with -DPERFBENCH_CUDA=ON, or "
                    "use device cpu");
}

void add_cuda_facts(spec::EnvironmentRecord& environment) {
  environment.cuda = "absent";
}

}  // namespace perfbench::engine
