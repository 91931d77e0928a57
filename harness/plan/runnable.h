// Whether this machine can execute a cell whose plan is feasible. A matrix may plan for 512 GPUs on a laptop; a sweep
// of it must not start 512 processes there.
#pragma once

#include <optional>
#include <string>

#include "harness/plan/planner.h"
#include "workloads/spec/environment.h"

namespace perfbench::harness {

// Why not, in one line; nothing if it can. `machine` is what perfbench-engine says about itself and its node.
std::optional<std::string> not_runnable_here(const PlannedCell& planned, const spec::EnvironmentRecord& machine);

}  // namespace perfbench::harness
