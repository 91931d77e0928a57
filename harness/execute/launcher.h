// An engine to start, and where it finds shared libraries first.
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
  std::filesystem::path libraries = {};  // empty: where the dynamic loader finds them

  // What its process needs beside this process's own environment.
  std::map<std::string, std::string> environment() const;
  // A process of it with these arguments.
  ProcessRequest request(const std::vector<std::string>& arguments) const;
  bool operator==(const EngineProgram&) const = default;
};

}  // namespace perfbench::harness

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

// The command that runs one attempt on this node.
// Where the launcher of MPI programs is: PERFBENCH_MPIRUN of the environment, else mpirun.openmpi or mpirun of PATH.
std::optional<std::filesystem::path> find_mpirun();

// The first executable of that name in PATH.
std::optional<std::filesystem::path> find_in_path(const std::string& name);

struct Launcher {
  EngineProgram engine;
  std::optional<std::filesystem::path> mpirun;
  std::int64_t cores = 1;                          // to share among the ranks
  std::vector<std::string> engine_arguments = {};  // after those of every run: --inject of engine/faults/faults.h

  // spec.threads_per_rank, or an even share of the cores.
  std::int64_t threads_per_rank(const spec::RunSpec& run) const;

  // `perfbench-engine run --dir DIR`, under mpirun for more than one rank. OpenMP reads its settings before main, so
  // they are in the environment. Throws LaunchError when mpirun is needed and not there.
  ProcessRequest request(const spec::RunSpec& run, const std::filesystem::path& attempt_dir) const;
};

}  // namespace perfbench::harness
