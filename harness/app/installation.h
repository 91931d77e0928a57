// Finds what belongs to this perfbench, relative to its own executable.
#pragma once

#include <filesystem>

namespace perfbench::harness {

// The folder that holds matrices/ and workloads/: PERFBENCH_DATA_DIR of the environment, else <prefix>/share/perfbench
// of an installed executable, else the repository of a build tree. Throws InputError when the folder has no
// workloads/models; called by the commands that read those, so that --help and the others work without.
std::filesystem::path locate_data_dir();

// perfbench-engine: PERFBENCH_ENGINE of the environment, else beside this executable, else in the build tree's engine
// folder. The path may not exist yet; who starts it reports that.
std::filesystem::path locate_engine();

// What the use cases work with.
struct Installation {
  // Found when it is asked for: not every use needs one. Throws InputError.
  std::filesystem::path data_dir() const { return locate_data_dir(); }

  std::filesystem::path engine;  // perfbench-engine, beside this executable
};

}  // namespace perfbench::harness
