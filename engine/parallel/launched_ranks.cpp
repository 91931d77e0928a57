#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "engine/parallel/collectives.h"

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

std::int64_t launched_ranks() {
  constexpr std::array kSizes{
      "OMPI_COMM_WORLD_SIZE",  // Open MPI's mpirun
      "PMI_SIZE",              // MPICH's and Intel's mpiexec, srun --mpi=pmi2
  };
  for (const char* name : kSizes) {
    if (const auto ranks = positive_number(std::getenv(name)); ranks > 0) return ranks;
  }
  // srun --mpi=pmix names no size of its own. SLURM_NTASKS alone is no launch: a batch script inherits it too, and so
  // would an engine that the script starts by itself.
  const bool by_pmix = std::getenv("PMIX_RANK") != nullptr || std::getenv("PMIX_NAMESPACE") != nullptr;
  if (by_pmix) {
    for (const char* name : {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}) {
      if (const auto ranks = positive_number(std::getenv(name)); ranks > 0) return ranks;
    }
  }
  return 1;
}

}  // namespace perfbench::engine
