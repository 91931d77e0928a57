// Whether this machine can execute a cell whose plan is feasible. A matrix may plan for 512 GPUs on a laptop; a sweep
// of it must not start 512 processes there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/plan/planner.h"
#include "workloads/spec/environment.h"

namespace perfbench::harness {

// Why `ranks` ranks find no GPU each on this machine, in one line; nothing if they do.
std::optional<std::string> no_gpus_for(std::int64_t ranks, const spec::EnvironmentRecord& machine);

// Why not, in one line; nothing if it can. `machine` is what perfbench-engine says about itself and its node.
std::optional<std::string> not_runnable_here(const PlannedCell& planned, const spec::EnvironmentRecord& machine);

}  // namespace perfbench::harness
