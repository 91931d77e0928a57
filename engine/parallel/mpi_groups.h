// Groups of ranks over MPI. For the mpi_*.cpp files alone.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/parallel/mpi_error.h"
#include "engine/parallel/processes.h"
#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

// One thread at a time may call MPI (MPI_THREAD_SERIALIZED), and none keeps the others from it while it waits for other
// ranks: lanes would wait for one another, and those of two ranks in a circle.
class MpiAccess {
 public:
  // `call` returns without another rank's doing.
  template <class Call>
  void call(const Call& call) {
    const std::scoped_lock lock(mutex_);
    call();
  }
  // Until all have ended. Empties the list.
  void finish(std::vector<MPI_Request>& requests);

 private:
  std::mutex mutex_;
};

// Takes the communicator over. Called by all its ranks. The group frees nothing until its destruction, which all ranks
// must reach; while a group is made or destroyed, nobody else may call MPI.
std::unique_ptr<RankGroup> make_rank_group(MPI_Comm group, MpiAccess& mpi, const MpiOptions& options);

}  // namespace perfbench::engine
