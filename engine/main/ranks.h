// This process's place among the ranks of a run.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/parallel/processes.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

struct Ranks {
  std::unique_ptr<Processes> processes;  // null with one rank
  std::int64_t rank = 0;
  std::int64_t size = 1;
  std::int64_t on_node = 1;
};

// Throws BadInput if the launcher started another number of processes than the run's mesh has ranks.
Ranks join_ranks(const spec::RunSpec& run);

// Waits until every rank has called it.
void wait_for_all(const Ranks& ranks);

}  // namespace perfbench::engine
