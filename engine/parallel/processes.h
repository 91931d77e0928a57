// One process per rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/parallel/collectives.h"

namespace perfbench::engine {

// Under mpirun. What it makes must go before it. Destroyed by an exception, it ends all ranks: to part in good order
// takes every rank, and the others wait for this one.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t ranks_on_node() const = 0;
  virtual std::int64_t rank_on_node() const = 0;
  // The first rank of this node.
  virtual std::int64_t first_on_node() const = 0;
  // all = own of every rank, in their order; a few bytes, by which ranks introduce themselves to other libraries.
  virtual void all_gather(std::span<std::byte> all, std::span<const std::byte> own) = 0;
  // `declared`: what will be communicated along. After require_nodes.
  virtual std::unique_ptr<Collectives> make_collectives(const Mesh& mesh, std::span<const Declared> declared) = 0;
  // Ends all ranks of the run at once.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

// Called by all ranks. Throws LogicFault where there are not as many as the mesh has, EngineError (infeasible) on all
// of them where axes inside a node (mesh.ici) have ranks of several nodes.
void require_nodes(const Mesh& mesh, Processes& processes);
// Why not, given the first rank of each rank's node; nothing where the mesh fits.
std::optional<std::string> misplaced(const Mesh& mesh, std::span<const std::int64_t> first_on_node);

// With how many ranks a launcher of MPI started this process, by its environment: OMPI_COMM_WORLD_SIZE (Open MPI),
// PMI_SIZE (MPICH, srun --mpi=pmi2), SLURM_STEP_NUM_TASKS beside PMIX_RANK (srun --mpi=pmix). 1 without a launcher.
std::int64_t launched_ranks();

// How ranks of one node exchange data: through memory they share, or by messages as ranks of different nodes must.
enum class OnNode { shared_memory, messages };
struct MpiOptions {
  OnNode on_node = OnNode::shared_memory;
  std::int64_t largest_message_bytes = std::int64_t{1} << 30;  // MPI counts in int
};
// Initialises MPI. Throws EngineError when the engine was built without it.
std::unique_ptr<Processes> make_mpi_processes(MpiOptions options = {});
// Name and version of the MPI library, or "absent".
std::string mpi_version();

}  // namespace perfbench::engine
