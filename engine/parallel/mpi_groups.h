// Groups of ranks over MPI. For the mpi_*.cpp files alone.
#pragma once

#include <memory>

#include "engine/parallel/mpi_access.h"
#include "engine/parallel/processes.h"
#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

// Takes the communicator over. Called by all its ranks. The group frees nothing until its destruction, which all ranks
// must reach; while a group is made or destroyed, nobody else may call MPI.
std::unique_ptr<RankGroup> make_rank_group(MPI_Comm group, MpiAccess& mpi, const MpiOptions& options);

}  // namespace perfbench::engine
