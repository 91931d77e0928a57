#include "harness/execute/program_facts.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <tuple>

#include "harness/execute/container.h"
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

// Prints a line "NAME<tab>VERSION" for Python and for each package, in the order of the names. If a package is
// installed twice, the one that Python finds first counts. The first entry of sys.path is the working directory, whose
// files may have the names of modules that this imports.
constexpr const char* kListPackages =
    "import sys\n"
    "sys.path[:] = sys.path[1:]\n"
    "import importlib.metadata, platform\n"
    "found = {'python': platform.python_version()}\n"
    "for package in importlib.metadata.distributions():\n"
    "    name = str(package.metadata['Name']).lower().replace('_', '-')\n"
    "    found.setdefault(name, package.version or '')\n"
    "for name in sorted(found):\n"
    "    print(name, found[name], sep='\\t')\n";

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
    facts[spec::kChangesFact] = spec::kUnknownFact;
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

// The word of a command that names its program, and its variables. `env NAME=VALUE PROGRAM` starts PROGRAM with more of
// them.
struct StartedWord {
  std::string word;
  std::map<std::string, std::string> variables;
};

StartedWord started_word(const spec::ProgramSpec& program) {
  StartedWord out{program.command.front(), program.env};
  if (fs::path(out.word).filename() != "env") return out;
  for (std::size_t i = 1; i < program.command.size(); ++i) {
    out.word = program.command[i];
    const auto equals = out.word.find('=');
    if (equals == std::string::npos) break;
    out.variables[out.word.substr(0, equals)] = out.word.substr(equals + 1);
  }
  return out;
}

// The Python interpreter of a command that begins with it, or with a script of it such as torchrun.
std::optional<fs::path> interpreter(const fs::path& word, const spec::ProgramSpec& program) {
  const auto file = word.has_parent_path() ? fs::path(program.workdir) / word : find_in_path(word.string());
  if (!file) return std::nullopt;
  return is_python(*file) ? file : interpreter_of_script(*file);
}

// Lists that were made a moment ago, by interpreter, folder and environment: a sweep starts many runs of one program.
struct PackageList {
  std::optional<std::string> text;  // nullopt: it could not be made
  std::chrono::steady_clock::time_point made;
};

std::optional<std::string> list_packages(const fs::path& python, const std::string& workdir,
                                         const std::map<std::string, std::string>& variables) {
  constexpr std::chrono::minutes kFresh{1};
  using Key = std::tuple<fs::path, std::string, std::map<std::string, std::string>>;
  static std::map<Key, PackageList> known;
  static std::mutex guard;
  const Key key{python, workdir, variables};
  const std::lock_guard lock(guard);
  const auto now = std::chrono::steady_clock::now();
  const auto found = known.find(key);
  if (found != known.end() && now - found->second.made < kFresh) return found->second.text;
  auto text =
      output_of({.command = {python.string(), "-c", kListPackages}, .working_dir = workdir, .environment = variables});
  return known.insert_or_assign(key, PackageList{std::move(text), now}).first->second.text;
}

void add_packages(spec::ProgramSpec& program) {
  const auto [word, variables] = started_word(program);
  const auto python = interpreter(word, program);
  if (!python) return;
  const auto list = list_packages(*python, program.workdir, variables);
  program.facts[spec::kPackagesFact] = list ? short_digest(*list) : spec::kUnknownFact;
  std::istringstream lines(list.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const auto name = line.substr(0, line.find('\t'));
    const bool is_framework = std::find(kFrameworks.begin(), kFrameworks.end(), name) != kFrameworks.end();
    if (is_framework || name == "python") program.facts[name] = line.substr(std::min(line.size(), name.size() + 1));
  }
}

}  // namespace

void add_program_facts(spec::ProgramSpec& program, const fs::path& repo) {
  if (!repo.empty()) add_repository(repo, program.facts);
  add_files(program);
  if (program.container.image.empty()) {
    add_packages(program);
  } else {
    add_image_fact(program);
  }
}

}  // namespace perfbench::harness
