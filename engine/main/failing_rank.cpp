#include "engine/main/failing_rank.h"

#include <cstdio>
#include <new>

#include "engine/metrics/record_files.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/run_summary.h"

namespace perfbench::engine {
namespace {

// Tells the harness as far as the disk still accepts it.
void write_failure(const std::filesystem::path& dir, EngineExit exit, const char* message) {
  try {
    const spec::RunSummary summary{.status = std::string(spec::enum_name(exit)), .message = message};
    write_whole_file(dir / "result.json", spec::to_json_line(summary) + "\n");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "perfbench-engine: %s\n", e.what());
  }
}

}  // namespace

EngineExit exit_of(const std::exception& failure) {
  if (const auto* known = dynamic_cast<const EngineError*>(&failure)) return known->exit();
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) return EngineExit::out_of_memory;
  return EngineExit::failed;
}

EngineExit end_run(const FailingRank& where, const std::exception& failure) {
  const EngineExit exit = exit_of(failure);
  std::fprintf(stderr, "perfbench-engine: rank %lld: %s\n", static_cast<long long>(where.rank), failure.what());
  write_failure(where.dir, exit, failure.what());
  if (where.processes != nullptr) where.processes->abort(static_cast<int>(exit));
  return exit;
}

}  // namespace perfbench::engine
