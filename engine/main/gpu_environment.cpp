#include "engine/main/gpu_environment.h"

#include <cstdlib>
#include <string>

#include "engine/core/error.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

constexpr const char* kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

}  // namespace

void prepare_gpu_environment(const spec::RunSpec& run) {
  if (run.device != spec::Device::cuda || run.mesh.devices() == 1) return;
  constexpr int kOverwrite = 0;
  const char* const connections = std::getenv(kConnections);
  const bool has_pipeline = run.mesh.pp() > 1;
  if (has_pipeline && connections != nullptr && std::string(connections) == "1") {
    throw EngineError(
        EngineExit::infeasible,
        std::string(kConnections) + " is 1, and pp is " + std::to_string(run.mesh.pp()) +
            ": in one queue a message that waits for another stage holds up the one that this stage waits "
            "for; unset it, or set it to 32");
  }
  ::setenv(kConnections, "32", kOverwrite);
  if (!has_pipeline) ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", kOverwrite);
}

}  // namespace perfbench::engine
