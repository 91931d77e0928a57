// Groups of ranks over MPI. Only for the mpi_*.cpp files.
#pragma once

#include <memory>

#include "engine/parallel/mpi_access.h"
#include "engine/parallel/processes.h"
#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

// Takes ownership of the communicator. Called by all its ranks. The group frees its resources only in its destructor,
// which all ranks must reach. While a group is made or destroyed, no other thread may call MPI.
std::unique_ptr<RankGroup> make_rank_group(MPI_Comm group, MpiAccess& mpi, const MpiOptions& options);

}  // namespace perfbench::engine
