#include "engine/main/machine_facts.h"

#include <algorithm>

#include "engine/main/backend.h"
#include "engine/metrics/environment.h"
#include "engine/metrics/noise_probe.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/parallel/processes.h"
#include "engine/trace/nvtx_ranges.h"
#include "workloads/build_info/build_info.h"

namespace perfbench::engine {

std::int64_t resolved_threads(std::int64_t wanted, std::int64_t ranks_on_node) {
  if (wanted > 0) return wanted;
  return std::max<std::int64_t>(1, allowed_cores() / ranks_on_node);
}

spec::EnvironmentRecord machine_facts(std::int64_t ranks, std::int64_t threads_per_rank) {
  auto env = collect_environment({.ranks = ranks, .threads_per_rank = threads_per_rank});
  const auto build = build_info::current();
  env.compiler = build.compiler;
  env.compiler_flags = build.compiler_flags;
  env.build_type = build.build_type;
  env.engine_version = build.version;
  env.git_commit = build.git_commit;
  env.git_dirty = build.git_dirty;
  env.mpi = mpi_version();
  env.libraries = cpu_library_versions();
  env.libraries["NVTX"] = nvtx_version() + (nvtx_wanted_in_timed_steps() ? ", ranges of timed steps" : "");
  add_cuda_facts(env);
  env.peak_flops_per_s = measure_peak_flops_per_s(static_cast<int>(threads_per_rank));
  return env;
}

}  // namespace perfbench::engine
