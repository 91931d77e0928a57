#include "harness/execute/launcher.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "harness/evidence/attempt.h"
#include "harness/system/place_names.h"
#include "workloads/spec/program_spec.h"
#include "workloads/spec/run_program.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {

std::map<std::string, std::string> EngineProgram::environment() const {
  constexpr const char* kLibraryPath = "LD_LIBRARY_PATH";  // read by the dynamic loader
  if (libraries.empty()) return {};
  const char* others = std::getenv(kLibraryPath);
  return {{kLibraryPath, libraries.string() + (others == nullptr ? "" : ":" + std::string(others))}};
}

ProcessRequest EngineProgram::request(const std::vector<std::string>& arguments) const {
  ProcessRequest request{.command = {file.string()}, .environment = environment()};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  return request;
}

namespace fs = std::filesystem;
namespace {

// How often a waiting OpenMP thread polls before it sleeps: about 0.1 ms. libgomp's default of 300 000 (17 ms) makes a
// step five times slower as soon as anything else runs on the cores. On idle cores, 2000 costs a few percent of a 40 ms
// step.
constexpr const char* kSpinCount = "2000";

// Options of Open MPI. More ranks than cores are allowed; they yield to each other. Ranks are not bound, because each
// would be bound to one core while it computes with several threads.
std::vector<std::string> mpirun_command(const fs::path& mpirun, const std::string& ranks,
                                        const std::map<std::string, std::string>& environment) {
  std::vector<std::string> command{mpirun.string()};
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  command.insert(command.end(), {"--oversubscribe", "--bind-to", "none", "-np", ranks});
  for (const auto& [name, value] : environment) command.insert(command.end(), {"-x", name});
  return command;
}

// Keeps settings of the user.
void set_default(std::map<std::string, std::string>& environment, const char* name, const char* value) {
  if (std::getenv(name) == nullptr) environment.try_emplace(name, value);
}

// Open MPI looks for a program that starts ranks on other nodes, and fails without one. A run on one node never starts
// it, so any program will do (orte/mca/plm/rsh of Open MPI 4, plm/ssh of PRRTE in 5).
void set_remote_shell(std::map<std::string, std::string>& environment) {
  if (find_in_path("ssh") || find_in_path("rsh")) return;
  for (const auto* name : {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"}) {
    set_default(environment, name, "/bin/sh");
  }
}

constexpr const char* kNodeName = "SLURMD_NODENAME";  // set by Slurm for what runs on a node

void check_rank_count(const std::string& text) {
  constexpr std::int64_t kMost = 1'000'000;
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && end == text.data() + text.size() && count >= 1 && count <= kMost) return;
  throw LaunchError(fmt::format("[launch] ranks.count is '{}', but it has to be a number from 1 to {}", text, kMost));
}

}  // namespace

std::optional<fs::path> find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

std::optional<fs::path> find_mpirun() {
  if (const char* set = std::getenv("PERFBENCH_MPIRUN")) return set;
  for (const char* name : {"mpirun.openmpi", "mpirun"}) {
    if (auto found = find_in_path(name)) return found;
  }
  return std::nullopt;
}

std::vector<std::string> rank_command(const spec::ProgramSpec& program) {
  const auto& ranks = program.ranks;
  switch (ranks.launched_by) {
    case spec::LaunchedBy::program:
      return {};
    case spec::LaunchedBy::srun:
      return {"srun", "--ntasks=" + ranks.count, "--label", "--kill-on-bad-exit=1"};
    case spec::LaunchedBy::mpirun:
      break;
  }
  auto command = mpirun_command("mpirun", ranks.count, program.env);
  command.emplace_back("--tag-output");
  return command;
}

void launch_ranks(spec::ProgramSpec& program) {
  auto command = rank_command(program);
  if (command.empty()) return;
  check_rank_count(program.ranks.count);
  const bool by_mpirun = program.ranks.launched_by == spec::LaunchedBy::mpirun;
  const auto file = by_mpirun ? find_mpirun() : find_in_path("srun");
  if (!file) {
    throw LaunchError(by_mpirun ? "[launch] the program's ranks need mpirun, which is not in PATH; install "
                                  "openmpi-bin, or set PERFBENCH_MPIRUN"
                                : "[launch] the program's ranks need srun of Slurm, which is not in PATH");
  }
  command.front() = file->string();
  if (by_mpirun) set_remote_shell(program.env);
  program.command.insert(program.command.begin(), command.begin(), command.end());
}

std::int64_t nodes_of_job() {
  const char* text = std::getenv("SLURM_JOB_NUM_NODES");
  const bool on_first_node = std::getenv(kNodeName) != nullptr;  // salloc starts its command elsewhere
  return text == nullptr || !on_first_node ? 1 : std::max<std::int64_t>(1, std::atoll(text));
}

bool starts_on_every_node(const spec::RunSpec& run) {
  if (!run.program || run.mesh.dcn.size() == 1) return false;
  auto program = run.program->spec;
  if (program.ranks.launched_by != spec::LaunchedBy::program) return false;
  bool out = false;
  for_each_template(program, [&](const std::string& text) {
    for (const auto& name : template_names(text)) out = out || name == kNodeRank || name == kCoordinator;
  });
  return out;
}

void launch_on_nodes(spec::ProgramSpec& program, std::int64_t nodes, const fs::path& adapter) {
  const auto srun = find_in_path("srun");
  if (const auto has = nodes_of_job(); !srun || has < nodes) {
    throw LaunchError(fmt::format(
        "[launch] the program needs {} nodes of a Slurm job, and this one has {}; add --launch-option=--nodes={}",
        nodes, srun ? has : 1, nodes));
  }
  program.ranks = {.launched_by = spec::LaunchedBy::srun, .count = std::to_string(nodes)};
  auto command = rank_command(program);
  command.front() = srun->string();
  command.insert(command.end(),
                 {fmt::format("--nodes={}", nodes), "--ntasks-per-node=1", "--export=ALL", adapter.string(), "node"});
  // The files that are read are those of the first node.
  for (auto& file : program.files) file.path = with_node_rank(file.path, "0");
  if (program.workdir.find(kNodeRankTemplate) != std::string::npos) {
    throw LaunchError("[launch] workdir: all nodes start in one folder, so it cannot have {node_rank}");
  }
  for (const auto& [name, value] : program.env) {
    if (value.find(kNodeRankTemplate) != std::string::npos) command.push_back("--env=" + name);
  }
  command.emplace_back("--");
  program.command.insert(program.command.begin(), command.begin(), command.end());
}

std::string coordinator_of_job() {
  if (const char* node = std::getenv(kNodeName)) return node;
  return "localhost";
}

std::int64_t Launcher::threads_per_rank(const spec::RunSpec& run) const {
  if (run.threads_per_rank > 0) return run.threads_per_rank;
  return std::max<std::int64_t>(1, cores / run.mesh.devices());
}

ProcessRequest Launcher::request(const spec::RunSpec& run, const fs::path& attempt_dir) const {
  if (run.program) {
    auto request = adapter.request({"run", "--dir", attempt_dir.string()});
    request.command.insert(request.command.end(), engine_arguments.begin(), engine_arguments.end());
    request.output_file = attempt_dir / kLogFile;
    return request;
  }
  const auto ranks = run.mesh.devices();
  const auto threads = threads_per_rank(run);
  ProcessRequest request;
  request.output_file = attempt_dir / kLogFile;
  request.environment = engine.environment();
  request.environment["OMP_NUM_THREADS"] = std::to_string(threads);
  request.environment["OMP_DYNAMIC"] = "false";
  // Threads may move between cores: bound threads wait for other work on their core, and ranks that each bind from the
  // first core on would share it.
  set_default(request.environment, "OMP_PROC_BIND", "false");
  if (ranks * threads > cores) {
    // A thread that spins while it waits may take the core from the thread that it waits for.
    set_default(request.environment, "OMP_WAIT_POLICY", "passive");
  } else {
    set_default(request.environment, "GOMP_SPINCOUNT", kSpinCount);
  }
  if (ranks > 1) {
    if (!mpirun) {
      throw LaunchError(fmt::format(
          "[launch] {} ranks need mpirun, which is not in PATH; install openmpi-bin, or set PERFBENCH_MPIRUN", ranks));
    }
    set_remote_shell(request.environment);
    request.command = mpirun_command(*mpirun, std::to_string(ranks), request.environment);
  }
  request.command.insert(request.command.end(), {engine.file.string(), "run", "--dir", attempt_dir.string()});
  request.command.insert(request.command.end(), engine_arguments.begin(), engine_arguments.end());
  return request;
}

}  // namespace perfbench::harness
