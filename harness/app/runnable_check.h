// Whether this machine can execute the cells that an engine has planned.
#pragma once

#include <optional>
#include <string>

#include "harness/plan/planner.h"
#include "harness/provenance/machine_facts.h"

namespace perfbench::harness {

// What a matrix plans for other machines is recorded with that reason, not started.
class RunnableCheck {
 public:
  // Throws Cancelled, later, once a byte can be read from `cancel_fd`.
  RunnableCheck(EngineProgram engine, int cancel_fd);

  // Why not, in one line; nothing if it can. `planned` is feasible.
  std::optional<std::string> obstacle(const PlannedCell& planned);

 private:
  const EngineProgram engine_;
  const int cancel_fd_;
  const bool mpirun_;
  std::optional<EngineAnswer> answer_;  // asked when the first cell comes that depends on it
};

}  // namespace perfbench::harness
