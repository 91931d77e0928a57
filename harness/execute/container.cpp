#include "harness/execute/container.h"

#include <fmt/core.h>

#include <chrono>
#include <set>

#include "harness/execute/launcher.h"
#include "harness/execute/process.h"
#include "harness/system/sha256.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kImagePatience{60};  // a daemon may have to start first

std::string runtime_name(const spec::ProgramSpec& program) {
  return std::string(spec::enum_name(program.container.runtime));
}

std::string runtime_file(const std::string& name, const std::string& image) {
  if (const auto found = find_in_path(name)) return found->string();
  throw LaunchError(fmt::format(
      "[launch] the image {} needs {}, which is not in PATH: install it, or name another runtime", image, name));
}

// The same for a run directory at any time, so that a container can be found after its client was killed.
std::string container_name(const std::string& run_dir) {
  constexpr std::size_t kDigits = 16;
  return "perfbench-" + sha256_hex(run_dir).substr(0, kDigits);
}

// Those that perfbench sets for a program, those of the matrix, and those that must be set where perfbench is started.
std::set<std::string> passed_variables(const spec::ProgramSpec& program) {
  std::set<std::string> out{spec::kUnbufferedVariable, spec::kSamplesVariable};
  for (const auto& [name, value] : program.env) out.insert(name);
  out.insert(program.needs.begin(), program.needs.end());
  return out;
}

}  // namespace

std::string image_id(const std::string& runtime, const std::string& image) {
  if (image.starts_with('-')) throw LaunchError("[launch] the image " + image + " is an option, not a name");
  const auto end =
      run_process({.command = {runtime_file(runtime, image), "image", "inspect", "--format", "{{.Id}}", image}},
                  {.time_limit = kImagePatience});
  auto id = end.output.substr(0, end.output.find('\n'));
  if (end.succeeded() && !id.empty()) return id;
  throw LaunchError(
      fmt::format("[launch] {0} has no image {1} on this machine: fetch it first, with '{0} pull {1}' "
                  "({2})",
                  runtime, image, end.error_output.substr(0, end.error_output.find('\n'))));
}

void add_image_fact(spec::ProgramSpec& program) {
  program.facts[spec::kImageFact] = image_id(runtime_name(program), program.container.image);
}

std::vector<std::string> container_command(const spec::ProgramSpec& program, const std::string& run_dir,
                                           const std::string& name) {
  const auto& workdir = program.workdir.empty() ? run_dir : program.workdir;
  // --init: a program that is the first process of a container ignores SIGTERM unless it handles it.
  std::vector<std::string> out{runtime_name(program), "run", "--rm", "--init", "--pull=never"};
  out.push_back("--name=" + name);
  for (const auto& folder : std::set<std::string>{run_dir, workdir}) {
    if (folder.find(':') != std::string::npos) {
      throw LaunchError("[launch] a container cannot mount " + folder + ", because its name has a colon: rename it");
    }
    out.push_back("--volume=" + folder + ":" + folder);
  }
  out.push_back("--workdir=" + workdir);
  for (const auto& variable : passed_variables(program)) out.push_back("--env=" + variable);
  const auto& options = program.container.options;
  out.insert(out.end(), options.begin(), options.end());
  out.push_back(program.container.image);
  return out;
}

void enter_container(spec::ProgramSpec& program, const fs::path& run_dir) {
  if (program.container.image.empty()) return;
  const auto folder = fs::absolute(run_dir).string();
  auto command = container_command(program, folder, container_name(folder));
  command.front() = runtime_file(runtime_name(program), program.container.image);
  program.command.insert(program.command.begin(), command.begin(), command.end());
}

std::vector<std::string> container_removal(const spec::ProgramSpec& program, const fs::path& run_dir) {
  if (program.container.image.empty()) return {};
  std::vector<std::string> out{runtime_file(runtime_name(program), program.container.image), "rm", "--force"};
  // By default podman waits ten seconds before it kills; docker kills at once and does not have the option.
  if (program.container.runtime == spec::ContainerRuntime::podman) out.emplace_back("--time=0");
  out.push_back(container_name(fs::absolute(run_dir).string()));
  return out;
}

}  // namespace perfbench::harness
