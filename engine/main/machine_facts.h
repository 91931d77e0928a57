// The contents of env.json for this build on this machine.
#pragma once

#include <cstdint>

#include "workloads/spec/environment.h"

namespace perfbench::engine {

// The threads of one rank: `wanted`, or for 0 an even share of the cores that this node allows, at least one.
std::int64_t resolved_threads(std::int64_t wanted, std::int64_t ranks_on_node);

// Measures the peak, which takes about 30 ms on all threads.
spec::EnvironmentRecord machine_facts(std::int64_t ranks, std::int64_t threads_per_rank);

}  // namespace perfbench::engine
