#include "harness/plan/runnable.h"

#include <fmt/core.h>

#include "reports/format/quantity.h"

namespace perfbench::harness {

std::optional<std::string> not_runnable_here(const PlannedCell& planned, const spec::EnvironmentRecord& machine) {
  const spec::RunSpec& run = planned.cell.run;
  if (run.device == spec::Device::cuda) {
    if (machine.cuda != "absent") return std::nullopt;
    return "planned only: device cuda, and this perfbench-engine was built without CUDA";
  }
  // The plan of hardware: host has already been held against this machine.
  if (run.hardware == "host" || !planned.counts || machine.memory_bytes == 0) return std::nullopt;
  const auto ranks = run.mesh.devices();
  const auto needed = needed_bytes(run, *planned.counts);
  if (needed <= machine.memory_bytes / ranks) return std::nullopt;
  return fmt::format("planned only: {} ranks need {} each, this machine has {} in all", ranks,
                     reports::human_bytes(needed), reports::human_bytes(machine.memory_bytes));
}

}  // namespace perfbench::harness
