#include "harness/execute/program_facts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "harness/execute/launcher.h"
#include "harness/execute/process.h"
#include "harness/system/sha256.h"
#include "workloads/spec/regular_file.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDigits = 16;                              // shown digits of a digest
constexpr std::int64_t kLargestScript = std::int64_t{64} << 20;  // larger files are data, not programs
constexpr std::chrono::seconds kPatience{20};

// Packages whose versions are facts of their own. The fact `packages` covers all others.
constexpr std::array<std::string_view, 14> kFrameworks{
    "accelerate", "axlearn", "deepspeed",  "flash-attn", "flax",       "jax",          "lightning",
    "maxtext",    "numpy",   "tensorflow", "torch",      "torchtitan", "transformers", "triton"};

// Prints "python VERSION", then "NAME VERSION" for each installed package, in the order of their names.
constexpr const char* kListPackages =
    "import importlib.metadata, platform\n"
    "print('python', platform.python_version())\n"
    "found = {(str(d.metadata['Name']).lower().replace('_', '-'), d.version) for d in "
    "importlib.metadata.distributions()}\n"
    "for name, version in sorted(found):\n"
    "    print(name, version)\n";

// The output of a command; nullopt if it fails.
std::optional<std::string> output_of(const ProcessRequest& request) {
  try {
    auto end = run_process(request, {.time_limit = kPatience});
    return end.succeeded() ? std::optional(std::move(end.output)) : std::nullopt;
  } catch (const LaunchError&) {
    return std::nullopt;
  }
}

std::optional<std::string> git(const fs::path& folder, const std::vector<std::string>& arguments) {
  // The checkout may belong to another user, as it does in a container.
  std::vector<std::string> command{"git", "-c", "safe.directory=*", "-C", folder.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return output_of({.command = command});
}

std::string short_digest(const std::string& text) {
  return sha256_hex(text).substr(0, kDigits);
}

void add_repository(const fs::path& folder, std::map<std::string, std::string>& facts) {
  auto commit = git(folder, {"rev-parse", "HEAD"});
  if (!commit) return;
  commit->erase(std::remove(commit->begin(), commit->end(), '\n'), commit->end());
  facts[spec::kCommitFact] = *commit;
  const auto changes = git(folder, {"diff", "HEAD"});
  if (!changes) {
    facts[spec::kChangesFact] = spec::kUnknownChanges;
  } else if (!changes->empty()) {
    facts[spec::kChangesFact] = short_digest(*changes);
  }
}

// Digests of the files that the command names, such as a script or its configuration.
void add_files(spec::ProgramSpec& program) {
  for (const auto& argument : program.command) {
    const auto file = fs::path(program.workdir) / argument;
    std::error_code none;
    if (argument.empty() || !fs::is_regular_file(file, none)) continue;
    try {
      const auto text = spec::read_regular_file(file, kLargestScript);
      if (text) program.facts[spec::kFileFacts + fs::path(argument).filename().string()] = short_digest(*text);
    } catch (const spec::FileError&) {
      continue;  // the program reports its own mistakes
    }
  }
}

bool is_python(const fs::path& program) {
  return program.filename().string().starts_with("python");
}

// The interpreter in the first line of a script: "#!/venv/bin/python", "#!/usr/bin/env python3".
std::optional<fs::path> interpreter_of_script(const fs::path& script) {
  constexpr std::size_t kLongestLine = 512;
  std::string line(kLongestLine, '\0');
  try {
    const auto file = spec::RegularFile::open(script);
    if (!file) return std::nullopt;
    line.resize(file->read_at(0, line.data(), line.size()));
  } catch (const spec::FileError&) {
    return std::nullopt;
  }
  if (!line.starts_with("#!")) return std::nullopt;
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  for (std::string word; words >> word;) {
    if (!is_python(word)) continue;
    return word.find('/') == std::string::npos ? find_in_path(word) : fs::path(word);
  }
  return std::nullopt;
}

// The Python interpreter of a command that begins with it, or with a script of it such as torchrun.
std::optional<fs::path> interpreter(const spec::ProgramSpec& program) {
  const fs::path word = program.command.front();
  const auto file = word.has_parent_path() ? fs::path(program.workdir) / word : find_in_path(word.string());
  if (!file) return std::nullopt;
  return is_python(*file) ? file : interpreter_of_script(*file);
}

void add_packages(spec::ProgramSpec& program) {
  const auto python = interpreter(program);
  if (!python) return;
  const auto list = output_of(
      {.command = {python->string(), "-c", kListPackages}, .working_dir = program.workdir, .environment = program.env});
  if (!list) return;
  program.facts[spec::kPackagesFact] = short_digest(*list);
  std::istringstream lines(*list);
  for (std::string name, version; lines >> name >> version;) {
    const bool is_framework = std::find(kFrameworks.begin(), kFrameworks.end(), name) != kFrameworks.end();
    if (is_framework || name == "python") program.facts[name] = version;
  }
}

}  // namespace

void add_program_facts(spec::ProgramSpec& program, const fs::path& repo) {
  if (!repo.empty()) add_repository(repo, program.facts);
  add_files(program);
  add_packages(program);
}

}  // namespace perfbench::harness
