#include "engine/metrics/environment.h"

#include <omp.h>

#include "workloads/spec/node_facts.h"
#include "workloads/spec/node_limits.h"

namespace perfbench::engine {

// Does not use this thread's affinity: a bound OpenMP thread (OMP_PROC_BIND) sees one core.
std::int64_t allowed_cores() {
  return spec::cores_within_quota(omp_get_num_procs());
}

std::int64_t peak_resident_bytes() {
  return spec::kilobytes_in("/proc/self/status", "VmHWM");
}

spec::EnvironmentRecord collect_environment(const EnvironmentQuery& query) {
  auto env = spec::node_facts(query.root);
  env.cores_allowed = allowed_cores();
  env.threads_per_rank = query.threads_per_rank;
  env.ranks = query.ranks;
  return env;
}

}  // namespace perfbench::engine
