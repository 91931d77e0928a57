#include "engine/main/arguments.h"

#include <cstdlib>

#include "engine/core/error.h"
#include "engine/main/commands.h"
#include "engine/metrics/record_files.h"
#include "workloads/spec/run_spec.h"
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

std::int64_t number_argument(const std::string& option, const std::string& text, std::int64_t minimum) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < minimum) {
    throw UsageError(option + " is '" + text + "', it must be a whole number of at least " + std::to_string(minimum));
  }
  return value;
}

spec::RunSpec load_run(const std::filesystem::path& file) {
  auto run = parse(file);
  if (const auto reason = spec::unsupported(run)) throw EngineError(EngineExit::infeasible, *reason);
  return run;
}

}  // namespace perfbench::engine
