#include "harness/cli/execution_options.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <ctime>

#include "harness/cli/checked_option.h"
#include "harness/launch/node_limits.h"
#include "workloads/spec/process_token.h"

namespace perfbench::harness {
namespace {

// 20260131T120000Z-3f09ac12d4: sorts by time, and two sweeps of one second differ by their processes, or within one by
// a number: 20260131T120000Z-3f09ac12d4-2.
std::string new_sweep_id() {
  static int given = 0;
  auto id = fmt::format("{:%Y%m%dT%H%M%SZ}-{}", fmt::gmtime(std::time(nullptr)), spec::process_token());
  return ++given == 1 ? id : fmt::format("{}-{}", id, given);
}

constexpr double kLongestSeconds = 1e8;  // three years: as good as no limit, and its nanoseconds fit
constexpr double kMostGib = 1e6;

}  // namespace

void add_execution_options(CLI::App& command, ExecutionOptions& options) {
  add_number(command, "--timeout", options.timeout_s, Bounds<double>{1e-3, kLongestSeconds},
             "seconds an attempt may take")
      ->capture_default_str();
  add_number(command, "--memory-limit", options.memory_limit_gib, Bounds<double>{0, kMostGib},
             "GiB that all ranks of an attempt may hold, 0: no limit");
}

ExecutionSettings execution_settings(const ExecutionOptions& options, SweepKind kind, std::filesystem::path runs,
                                     const CommandContext& context) {
  const std::chrono::duration<double> limit(options.timeout_s);
  return {.runs = std::move(runs),
          .launcher = {.engine = {context.engine}, .mpirun = find_mpirun(), .cores = allowed_cores()},
          .time_limit = std::chrono::duration_cast<std::chrono::nanoseconds>(limit),
          .memory_limit_bytes = static_cast<std::int64_t>(options.memory_limit_gib * 0x1p30),
          .sweep_id = new_sweep_id(),
          .sweep_kind = kind,
          .perfbench_version = PERFBENCH_VERSION};
}

}  // namespace perfbench::harness
