#include "harness/execute/program_start.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "harness/execute/launcher.h"
#include "harness/execute/process.h"
#include "harness/matrix/matrix.h"
#include "harness/system/place_names.h"
#include "harness/system/sha256.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDigits = 16;                              // shown digits of a digest
constexpr std::int64_t kLargestScript = std::int64_t{64} << 20;  // larger files are data, not programs
constexpr std::chrono::seconds kPatience{20};

std::optional<std::string> python() {
  if (const char* set = std::getenv("PERFBENCH_PYTHON")) return set;
  const auto found = find_in_path("python3");
  return found ? std::optional(found->string()) : std::nullopt;
}

std::optional<std::string> place_value(const std::string& name, const ProgramPlace& place, const fs::path& dir) {
  if (name == "run_dir") return fs::absolute(dir).string();
  if (name == "cwd" && !place.cwd.empty()) return place.cwd.string();
  if (name == "repo" && !place.repo.empty()) return place.repo.string();
  if (name == "python") return python();
  return std::nullopt;
}

// The output of a git command; nullopt if it fails.
std::optional<std::string> git(const fs::path& folder, std::vector<std::string> arguments) {
  // The checkout may belong to another user, as it does in a container.
  std::vector<std::string> command{"git", "-c", "safe.directory=*", "-C", folder.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  try {
    auto end = run_process({.command = command}, {.time_limit = kPatience});
    return end.succeeded() ? std::optional(std::move(end.output)) : std::nullopt;
  } catch (const LaunchError&) {
    return std::nullopt;
  }
}

void add_repository(const fs::path& folder, std::map<std::string, std::string>& facts) {
  auto commit = git(folder, {"rev-parse", "HEAD"});
  if (!commit) return;
  commit->erase(std::remove(commit->begin(), commit->end(), '\n'), commit->end());
  facts["repo.commit"] = *commit;
  const auto changes = git(folder, {"diff", "HEAD"});
  if (!changes) {
    facts["repo.changes"] = "unknown";
  } else if (!changes->empty()) {
    facts["repo.changes"] = sha256_hex(*changes).substr(0, kDigits);
  }
}

// Digests of the files that the command names, such as a script or its configuration.
void add_files(const spec::ProgramSpec& program, std::map<std::string, std::string>& facts) {
  for (const auto& argument : program.command) {
    const auto file = fs::path(program.workdir) / argument;
    std::error_code none;
    if (argument.empty() || !fs::is_regular_file(file, none)) continue;
    try {
      const auto text = spec::read_regular_file(file, kLargestScript);
      if (text) facts["file." + fs::path(argument).filename().string()] = sha256_hex(*text).substr(0, kDigits);
    } catch (const spec::FileError&) {
      continue;  // the program reports its own mistakes
    }
  }
}

}  // namespace

spec::ProgramSpec program_to_start(const spec::RunSpec& run, const ProgramPlace& place, const fs::path& attempt_dir) {
  auto program = run.program->spec;
  try {
    for_each_template(program, [&](std::string& text) {
      text = fill_all(text, [&](const std::string& name) { return place_value(name, place, attempt_dir); });
    });
  } catch (const TemplateError& e) {
    throw LaunchError(std::string("[launch] ") + e.what());
  }
  if (spec::says_tokens(run) && spec::says(run, "mesh")) {
    program.work.tokens_per_device =
        static_cast<double>(run.global_batch * run.seq_len) / static_cast<double>(run.mesh.devices());
  }
  if (spec::says(run, "global_batch")) program.work.samples = static_cast<double>(run.global_batch);
  if (!place.repo.empty()) add_repository(place.repo, program.facts);
  add_files(program, program.facts);
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
