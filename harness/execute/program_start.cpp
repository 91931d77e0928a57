#include "harness/execute/program_start.h"

#include <cstdlib>
#include <optional>

#include "harness/execute/launcher.h"
#include "harness/execute/process.h"
#include "harness/execute/program_facts.h"
#include "harness/matrix/matrix.h"
#include "harness/system/place_names.h"
#include "harness/system/sha256.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

std::optional<std::string> python() {
  if (const char* set = std::getenv("PERFBENCH_PYTHON")) return set;
  const auto found = find_in_path("python3");
  return found ? std::optional(found->string()) : std::nullopt;
}

// `in_container`: the interpreter is that of the image.
std::optional<std::string> place_value(const std::string& name, const ProgramPlace& place, const fs::path& dir,
                                       bool in_container) {
  if (name == "run_dir") return fs::absolute(dir).string();
  if (name == "cwd" && !place.cwd.empty()) return place.cwd.string();
  if (name == "repo" && !place.repo.empty()) return place.repo.string();
  if (name == "python") return in_container ? "python3" : python();
  if (name == kNodeRank) return place.node_rank;
  if (name == kCoordinator) return place.coordinator;
  return std::nullopt;
}

}  // namespace

spec::ProgramSpec program_to_start(const spec::RunSpec& run, const ProgramPlace& place, const fs::path& attempt_dir) {
  auto program = run.program->spec;
  const bool in_container = !program.container.image.empty();
  try {
    for_each_template(program, [&](std::string& text) {
      text =
          fill_all(text, [&](const std::string& name) { return place_value(name, place, attempt_dir, in_container); });
    });
  } catch (const TemplateError& e) {
    throw LaunchError(std::string("[launch] ") + e.what());
  }
  if (spec::says_tokens(run) && spec::says(run, "mesh")) {
    program.work.tokens_per_device =
        static_cast<double>(run.global_batch * run.seq_len) / static_cast<double>(run.mesh.devices());
  }
  if (spec::says(run, "global_batch")) program.work.samples = static_cast<double>(run.global_batch);
  add_program_facts(program, place.repo);
  return program;
}

std::string program_digest(const spec::ProgramSpec& program) {
  std::string text;
  for (const auto& [fact, value] : program.facts) text += fact + "=" + value + "\n";
  return sha256_hex(text);
}

std::string program_digest(const Cell& cell) {
  const ProgramPlace place{.repo = cell.program_repo, .cwd = fs::current_path()};
  return program_digest(program_to_start(cell.run, place, {}));
}

}  // namespace perfbench::harness
