#include "engine/main/ranks.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

Ranks join_ranks(const spec::RunSpec& run) {
  Ranks ranks;
  const std::int64_t launched = launched_ranks();
  if (launched != run.mesh.devices()) {
    throw BadInput("the mesh has " + std::to_string(run.mesh.devices()) +
                   " ranks, but this process was started as one of " + std::to_string(launched) +
                   "; start it with mpirun -np " + std::to_string(run.mesh.devices()));
  }
  if (launched == 1) return ranks;
  ranks.processes = make_mpi_processes();
  ranks.rank = ranks.processes->rank();
  ranks.size = ranks.processes->size();
  ranks.on_node = ranks.processes->ranks_on_node();
  return ranks;
}

void wait_for_all(const Ranks& ranks) {
  if (!ranks.processes) return;
  std::vector<std::byte> all(static_cast<std::size_t>(ranks.size));
  const std::byte own{};
  ranks.processes->all_gather(all, std::span(&own, 1));
}

}  // namespace perfbench::engine
