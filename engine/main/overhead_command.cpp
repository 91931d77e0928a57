// The command overhead: measures what tracing and telemetry add to a step.
#include <omp.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "engine/main/arguments.h"
#include "engine/main/backend.h"
#include "engine/main/commands.h"
#include "engine/main/machine_facts.h"
#include "engine/train/watched_steps.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {
namespace {

constexpr std::int64_t kDefaultRounds = 30;

void print(const WatchedStep& step) {
  std::printf("{\"round\":%lld,\"by\":\"%.*s\",\"wall_ns\":%lld}\n", static_cast<long long>(step.round),
              static_cast<int>(step.by.size()), step.by.data(), static_cast<long long>(step.wall_ns));
  std::fflush(stdout);
}

}  // namespace

EngineExit overhead_command(const std::vector<std::string>& args) {
  std::filesystem::path dir;
  std::int64_t rounds = kDefaultRounds;
  for (std::size_t i = 0; i + 1 < args.size(); i += 2) {
    if (args[i] == "--dir") {
      dir = args[i + 1];
    } else if (args[i] == "--rounds") {
      rounds = number_argument("--rounds", args[i + 1], 1);
    } else {
      throw UsageError("overhead has no option '" + args[i] + "'");
    }
  }
  if (dir.empty() || args.size() % 2 != 0) throw UsageError("overhead needs --dir DIR, and takes --rounds N");
  auto run = load_run(dir / "run.json");
  if (run.mesh.devices() != 1) throw BadInput("overhead is measured on one rank, but the mesh of the run has several");
  omp_set_num_threads(static_cast<int>(resolved_threads(run.threads_per_rank, 1)));
  run.trace_steps = 1;  // without it the backend makes no tracer
  Assembly assembly(run, make_backend(run, nullptr, dir), {.data = make_run_data(run)});
  run_watched_steps(assembly.context(), assembly.trainer(), run,
                    {.device = assembly.tracer(), .telemetry = assembly.telemetry()}, rounds, print);
  return EngineExit::ok;
}

}  // namespace perfbench::engine
