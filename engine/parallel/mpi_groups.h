// Groups of ranks over MPI. For the mpi_*.cpp files alone.
#pragma once

#include <memory>

#include "engine/parallel/mpi_error.h"
#include "engine/parallel/processes.h"
#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

// Takes the communicator over. Called by all its ranks, on the thread that makes all calls of MPI. The group frees
// nothing until its destruction, which all ranks must reach.
std::unique_ptr<RankGroup> make_rank_group(MPI_Comm group, const MpiOptions& options);

}  // namespace perfbench::engine
