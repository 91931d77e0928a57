// Collects the facts of env.json on this node.
#pragma once

#include <cstdint>
#include <filesystem>

#include "workloads/spec/environment.h"

namespace perfbench::engine {

struct EnvironmentQuery {
  std::filesystem::path root = "/";  // tests put made-up /proc, /sys and /etc below another folder
  std::int64_t ranks = 1;
  std::int64_t threads_per_rank = 1;
};

// Everything but peak_flops_per_s and the libraries of the backend, which the caller adds. A fact that this system does
// not tell is "unknown" or 0.
spec::EnvironmentRecord collect_environment(const EnvironmentQuery& query);

// The logical cores that this process may use, by its affinity at start and the quota of its control group.
std::int64_t allowed_cores();
// The peak resident set of this process so far, 0 if unknown.
std::int64_t peak_resident_bytes();

}  // namespace perfbench::engine
