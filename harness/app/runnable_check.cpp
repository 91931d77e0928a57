#include "harness/app/runnable_check.h"

#include <fmt/core.h>

#include <utility>

#include "harness/launch/launcher.h"
#include "harness/plan/runnable.h"

namespace perfbench::harness {

RunnableCheck::RunnableCheck(EngineProgram engine, int cancel_fd)
    : engine_(std::move(engine)), cancel_fd_(cancel_fd), mpirun_(find_mpirun().has_value()) {}

std::optional<std::string> RunnableCheck::obstacle(const PlannedCell& planned) {
  const auto& run = planned.cell.run;
  if (run.mesh.devices() > 1 && !mpirun_) {
    return fmt::format(
        "{} ranks need mpirun, which is not in PATH: install Open MPI (Debian: openmpi-bin), or set PERFBENCH_MPIRUN",
        run.mesh.devices());
  }
  if (run.device == spec::Device::cpu && run.hardware == "host") return std::nullopt;
  if (!answer_) answer_ = ask_engine_environment(engine_, cancel_fd_);
  return answer_->facts ? not_runnable_here(planned, *answer_->facts) : answer_->error;
}

}  // namespace perfbench::harness
