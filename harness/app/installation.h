// The shared libraries that an engine computes with, to be kept beside it: with tonight's, last week's engine is not
// last week's. Kept are those that stand by themselves (oneDNN, OpenBLAS and other BLAS, MKL, OpenMP, Blosc). MPI,
// CUDA, cuDNN and NCCL are not: they load parts of themselves by their path and speak to launchers and drivers of the
// machine, so that a copy of one file would mix two versions.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::harness {

struct SharedLibrary {
  std::string name;            // as the engine asks for it: "libdnnl.so.3"
  std::filesystem::path file;  // that the loader takes for it here

  friend bool operator==(const SharedLibrary&, const SharedLibrary&) = default;
};

// By name. Asked of the dynamic loader, which lists what it would load and starts nothing; none of an engine that is
// no program of this machine, or a script.
std::vector<SharedLibrary> computing_libraries(const std::filesystem::path& engine);

// Of what the loader lists: "\tlibdnnl.so.3 => /usr/lib/x86_64-linux-gnu/libdnnl.so.3 (0x00007f...)", line by line.
std::vector<SharedLibrary> parse_loaded_libraries(std::string_view listing);

// Finds what belongs to this perfbench, relative to its own executable.
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
