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

// The ranks of a launch by mpirun. Objects that it makes must be destroyed before it. If an exception destroys it, it
// ends all ranks: an orderly end needs every rank, and the others wait for this one.
class Processes {
 public:
  virtual ~Processes() = default;
  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t ranks_on_node() const = 0;
  virtual std::int64_t rank_on_node() const = 0;
  // The first rank of this node.
  virtual std::int64_t first_on_node() const = 0;
  // all = `own` of every rank, in their order. It is for a few bytes with which ranks introduce themselves to other
  // libraries.
  virtual void all_gather(std::span<std::byte> all, std::span<const std::byte> own) = 0;
  // `declared` lists every communication that will be used. Call it after require_nodes.
  virtual std::unique_ptr<Collectives> make_collectives(const Mesh& mesh, std::span<const Declared> declared) = 0;
  // Ends all ranks of the run at once.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

// Called by all ranks. Throws LogicFault if their number differs from that of the mesh, EngineError (infeasible) on all
// of them if axes inside a node (mesh.ici) have ranks on several nodes.
void require_nodes(const Mesh& mesh, Processes& processes);
// The reason why the mesh does not fit, given the first rank of each rank's node; absent if it fits.
std::optional<std::string> misplaced(const Mesh& mesh, std::span<const std::int64_t> first_on_node);

// The number of ranks with which an MPI launcher started this process, by its environment: OMPI_COMM_WORLD_SIZE (Open
// MPI), PMI_SIZE (MPICH, srun --mpi=pmi2), SLURM_STEP_NUM_TASKS beside PMIX_RANK (srun --mpi=pmix). 1 without a
// launcher.
std::int64_t launched_ranks();

// How ranks on one node exchange data: through shared memory, or by messages, as ranks on different nodes must.
enum class OnNode { shared_memory, messages };
struct MpiOptions {
  OnNode on_node = OnNode::shared_memory;
  std::int64_t largest_message_bytes = std::int64_t{1} << 30;  // MPI counts in int
};
// Initialises MPI. Throws EngineError if the engine was built without it.
std::unique_ptr<Processes> make_mpi_processes(MpiOptions options = {});
// Name and version of the MPI library, or "absent".
std::string mpi_version();

}  // namespace perfbench::engine
