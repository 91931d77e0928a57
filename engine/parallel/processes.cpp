#include "engine/parallel/processes.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "engine/core/error.h"

namespace perfbench::engine {
namespace {

std::int64_t positive_number(const char* text) {
  if (text == nullptr) return 0;
  const std::string_view view(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), number);
  return error == std::errc{} && end == view.data() + view.size() && number > 0 ? number : 0;
}

}  // namespace

std::optional<std::string> misplaced(const Mesh& mesh, std::span<const std::int64_t> first_on_node) {
  const std::int64_t together = mesh.ranks_on_node();
  for (std::int64_t rank = 0; rank < mesh.devices(); ++rank) {
    const std::int64_t first = rank / together * together;
    if (first_on_node[static_cast<std::size_t>(rank)] == first_on_node[static_cast<std::size_t>(first)]) continue;
    return "mesh.ici says that ranks " + std::to_string(first) + " to " + std::to_string(first + together - 1) +
           " share a node, but rank " + std::to_string(rank) + " runs on another than rank " + std::to_string(first) +
           "; number the ranks of a node one after another (mpirun --map-by slot), or give what crosses nodes a size "
           "in "
           "mesh.dcn (dcn_dp, dcn_fsdp, ...)";
  }
  return std::nullopt;
}

void require_nodes(const Mesh& mesh, Processes& processes) {
  if (mesh.devices() != processes.size() || mesh.rank() != processes.rank()) {
    throw LogicFault("a mesh of " + std::to_string(mesh.devices()) + " devices seen by rank " +
                     std::to_string(mesh.rank()) + " needs as many processes; this is rank " +
                     std::to_string(processes.rank()) + " of " + std::to_string(processes.size()));
  }
  const std::int64_t own = processes.first_on_node();
  std::vector<std::int64_t> all(static_cast<std::size_t>(processes.size()));
  processes.all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(&own, 1)));
  if (const auto why = misplaced(mesh, all)) throw EngineError(EngineExit::infeasible, *why);
}

std::int64_t launched_ranks() {
  constexpr std::array kSizes{
      "OMPI_COMM_WORLD_SIZE",  // Open MPI's mpirun
      "PMI_SIZE",              // MPICH's and Intel's mpiexec, srun --mpi=pmi2
  };
  for (const char* name : kSizes) {
    if (const auto ranks = positive_number(std::getenv(name)); ranks > 0) return ranks;
  }
  // srun --mpi=pmix has no variable for the size. SLURM_NTASKS alone does not mean a launch: a batch script inherits it
  // too, and so would an engine that the script starts by itself.
  const bool by_pmix = std::getenv("PMIX_RANK") != nullptr || std::getenv("PMIX_NAMESPACE") != nullptr;
  if (by_pmix) {
    for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
      if (const auto ranks = positive_number(std::getenv(name)); ranks > 0) return ranks;
    }
  }
  return 1;
}

}  // namespace perfbench::engine
