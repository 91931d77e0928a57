#include "harness/app/execution.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <ctime>

#include "workloads/build_info/build_info.h"
#include "workloads/spec/node_limits.h"
#include "workloads/spec/process_token.h"

namespace perfbench::harness {

std::string new_sweep_id() {
  static int given = 0;
  auto id = fmt::format("{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(std::time(nullptr)), spec::process_token());
  return ++given == 1 ? id : fmt::format("{}-{}", id, given);
}

ExecutionSettings execution_settings(const ExecutionOptions& options, SweepKind kind, std::filesystem::path runs,
                                     const Installation& installation) {
  const std::chrono::duration<double> limit(options.timeout_s);
  return {.runs = std::move(runs),
          .launcher = {.engine = {installation.engine},
                       .adapter = {locate_adapter()},
                       .mpirun = find_mpirun(),
                       .cores = spec::allowed_cores()},
          .time_limit = std::chrono::duration_cast<std::chrono::nanoseconds>(limit),
          .memory_limit_bytes = options.memory_limit_bytes,
          .sweep_id = new_sweep_id(),
          .sweep_kind = kind,
          .perfbench_version = std::string(build_info::current().version)};
}

std::filesystem::path runs_folder(const std::filesystem::path& named, const std::filesystem::path& db) {
  return named.empty() ? std::filesystem::path(db).replace_extension(".runs") : named;
}

}  // namespace perfbench::harness
