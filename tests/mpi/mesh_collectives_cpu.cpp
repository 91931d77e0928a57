#include "engine/train/trainer.h"
#include "tests/mpi/mesh_collectives.h"
#include "tests/mpi/mpi_world.h"

namespace perfbench::engine {

std::unique_ptr<Collectives> collectives_of(const spec::RunSpec& run) {
  return world().make_collectives(Mesh(run.mesh, world().rank()), communication(run));
}

}  // namespace perfbench::engine
