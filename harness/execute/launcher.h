// An engine program, and the folder in which it looks for shared libraries first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/execute/process.h"

namespace perfbench::harness {

struct EngineProgram {
  std::filesystem::path file = {};
  std::filesystem::path libraries = {};  // empty: the dynamic loader's defaults

  // The variables that its process needs in addition to the environment of this process.
  std::map<std::string, std::string> environment() const;
  // A request to run it with these arguments.
  ProcessRequest request(const std::vector<std::string>& arguments) const;
  bool operator==(const EngineProgram&) const = default;
};

}  // namespace perfbench::harness

namespace perfbench::spec {
struct ProgramSpec;
struct RunSpec;
}  // namespace perfbench::spec

namespace perfbench::harness {

// Builds the command that runs one attempt on this node. The launcher of MPI programs is PERFBENCH_MPIRUN of the
// environment, or else mpirun.openmpi or mpirun in PATH.
std::optional<std::filesystem::path> find_mpirun();

// The first executable with that name in PATH.
std::optional<std::filesystem::path> find_in_path(const std::string& name);

// The words that start a training program once for each rank, before those of its command. Each line of a rank then
// begins with its number. Empty if the program starts its ranks itself.
std::vector<std::string> rank_command(const spec::ProgramSpec& program);

// Puts them before the command, with the place of the launcher, and adds the variables that it needs. `program` is to
// be started, so that its templates are filled in. Throws LaunchError if the launcher is missing, or ranks.count is not
// a number.
void launch_ranks(spec::ProgramSpec& program);

// Nodes of the Slurm job on whose first node this process runs; 1 elsewhere.
std::int64_t nodes_of_job();

// Whether the program has to be started on each node of its mesh: it names {node_rank} or {coordinator}, and nothing
// starts its ranks.
bool starts_on_every_node(const spec::RunSpec& run);

// In a Slurm job, srun starts `adapter node`, which becomes the program, once on each of `nodes` nodes. `program` is to
// be started; its {node_rank} is still there. Throws LaunchError if the job has fewer nodes.
void launch_on_nodes(spec::ProgramSpec& program, std::int64_t nodes, const std::filesystem::path& adapter);

// The address of this node inside its Slurm job, whose first node it is.
std::string coordinator_of_job();

struct Launcher {
  EngineProgram engine;
  EngineProgram adapter = {};  // perfbench-adapter, which starts the program of a run that has one
  std::optional<std::filesystem::path> mpirun;
  std::int64_t cores = 1;  // shared among the ranks
  std::vector<std::string> engine_arguments =
      {};  // arguments after those of every run: --inject of engine/faults/faults.h

  // spec.threads_per_rank, or an even share of the cores.
  std::int64_t threads_per_rank(const spec::RunSpec& run) const;

  // For a run of a program: `perfbench-adapter run --dir DIR`, with the environment unchanged. Otherwise
  // `perfbench-engine run --dir DIR`, under mpirun if there are several ranks. OpenMP reads its settings before main,
  // so they are in the environment. Throws LaunchError when mpirun is needed and missing.
  ProcessRequest request(const spec::RunSpec& run, const std::filesystem::path& attempt_dir) const;
};

}  // namespace perfbench::harness
