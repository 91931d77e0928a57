// Stands in for mpi_processes.cpp in builds without MPI.
#include "engine/core/error.h"
#include "engine/parallel/processes.h"

namespace perfbench::engine {

std::unique_ptr<Processes> make_mpi_processes(MpiOptions) {
  throw EngineError(EngineExit::infeasible,
                    "this perfbench-engine was built without MPI and runs one rank only; install libopenmpi-dev and "
                    "build again with -DPERFBENCH_MPI=ON");
}

std::string mpi_version() {
  return "absent";
}

}  // namespace perfbench::engine
