#include "engine/main/load_run.h"

#include "engine/core/error.h"
#include "engine/metrics/record_files.h"
#include "workloads/spec/run_spec_json.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/validate.h"

namespace perfbench::engine {
namespace {

spec::RunSpec parse(const std::filesystem::path& file) {
  try {
    return spec::parse_run_json(read_whole_file(file));
  } catch (const spec::SpecError& e) {
    throw BadInput(file.string() + " " + e.pointer() + ": " + e.what());
  }
}

}  // namespace

spec::RunSpec load_run(const std::filesystem::path& file) {
  auto run = parse(file);
  if (const auto reason = spec::unsupported(run)) throw EngineError(EngineExit::infeasible, *reason);
  return run;
}

}  // namespace perfbench::engine
