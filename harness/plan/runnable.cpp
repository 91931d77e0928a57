#include "harness/plan/runnable.h"

#include <fmt/core.h>

#include "reports/format/quantity.h"

namespace perfbench::harness {

std::optional<std::string> no_gpus_for(std::int64_t ranks, const spec::EnvironmentRecord& machine) {
  if (machine.cuda == "absent") {
    return "device cuda, and this perfbench-engine was built without CUDA (install the CUDA toolkit and build with "
           "-DPERFBENCH_CUDA=ON, or use device cpu)";
  }
  if (machine.gpus == 0) return "device cuda, and no GPU can be used here: " + machine.gpu_problem;
  if (machine.gpus >= ranks) return std::nullopt;
  return fmt::format("device cuda with {} ranks, and this machine has {} GPU{}", ranks, machine.gpus,
                     machine.gpus == 1 ? "" : "s");
}

std::optional<std::string> not_runnable_here(const PlannedCell& planned, const spec::EnvironmentRecord& machine) {
  const spec::RunSpec& run = planned.cell.run;
  if (run.device == spec::Device::cuda) {
    if (const auto why_not = no_gpus_for(run.mesh.devices(), machine)) return "planned only: " + *why_not;
    if (!planned.counts || spec::needed_bytes(*planned.counts) <= machine.gpu_memory_bytes) return std::nullopt;
    return fmt::format("planned only: a rank needs {}, a {} has {}",
                       reports::human_bytes(spec::needed_bytes(*planned.counts)), machine.gpu_model,
                       reports::human_bytes(machine.gpu_memory_bytes));
  }
  // The plan of hardware: host has already been held against this machine.
  if (run.hardware == "host" || !planned.counts || machine.memory_bytes == 0) return std::nullopt;
  const auto ranks = run.mesh.devices();
  const auto needed = needed_by_all(run, *planned.counts) / ranks;
  if (needed <= machine.memory_bytes / ranks) return std::nullopt;
  return fmt::format("planned only: {} ranks need {} each, this machine has {} in all", ranks,
                     reports::human_bytes(needed), reports::human_bytes(machine.memory_bytes));
}

}  // namespace perfbench::harness
