#include "engine/parallel/cuda/nccl_collectives.h"
#include "engine/train/trainer.h"
#include "tests/engine/cuda_training.h"
#include "tests/mpi/mesh_collectives.h"
#include "tests/mpi/mpi_world.h"

namespace perfbench::engine {

std::unique_ptr<Collectives> collectives_of(const spec::RunSpec& run) {
  return make_nccl_collectives(Mesh(run.mesh, world().rank()), communication(run), training_gpu(), world());
}

}  // namespace perfbench::engine
