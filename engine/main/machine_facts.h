// env.json of this build on this machine.
#pragma once

#include <cstdint>

#include "workloads/spec/environment.h"

namespace perfbench::engine {

// Threads of one rank: `wanted`, or (0) an even share of the cores this node allows, at least one.
std::int64_t resolved_threads(std::int64_t wanted, std::int64_t ranks_on_node);

// Measures the peak, so it takes about 30 ms of all threads.
spec::EnvironmentRecord machine_facts(std::int64_t ranks, std::int64_t threads_per_rank);

}  // namespace perfbench::engine
