// The shared libraries with which an engine computes. They are kept beside it, because last week's engine with
// tonight's libraries would not be the same. Only self-contained libraries are kept (oneDNN, OpenBLAS and other BLAS,
// MKL, OpenMP, Blosc). MPI, CUDA, cuDNN and NCCL are not kept: they load parts of themselves by path and talk to
// launchers and drivers of the machine, so that a copy of one file would mix two versions.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::harness {

struct SharedLibrary {
  std::string name;            // the name that the engine requests: "libdnnl.so.3"
  std::filesystem::path file;  // the file that the loader finds for it on this machine

  friend bool operator==(const SharedLibrary&, const SharedLibrary&) = default;
};

// Sorted by name. Uses the dynamic loader, which lists what it would load and starts nothing. Empty for an engine that
// is a script, or not a program of this machine.
std::vector<SharedLibrary> computing_libraries(const std::filesystem::path& engine);

// Parses the loader's list: "\tlibdnnl.so.3 => /usr/lib/x86_64-linux-gnu/libdnnl.so.3 (0x00007f...)", line by line.
std::vector<SharedLibrary> parse_loaded_libraries(std::string_view listing);

// Finds the parts of this perfbench relative to its own executable. locate_data_dir: the folder that contains matrices/
// and workloads/. It is PERFBENCH_DATA_DIR of the environment, or else <prefix>/share/perfbench of an installed
// executable, or else the repository of a build tree. Throws InputError if the folder has no workloads/models. Only
// commands that read these files call it, so that --help and others work without them.
std::filesystem::path locate_data_dir();

// perfbench-engine: PERFBENCH_ENGINE of the environment, or else beside this executable, or else in the build tree's
// engine folder. The path may not exist yet; an error appears when it is started.
std::filesystem::path locate_engine();

// perfbench-adapter: PERFBENCH_ADAPTER of the environment, or else beside this executable, or else in the build tree.
std::filesystem::path locate_adapter();

// The inputs of the use cases.
struct Installation {
  // Located on each call, because not every use needs it. Throws InputError.
  std::filesystem::path data_dir() const { return locate_data_dir(); }

  std::filesystem::path engine;  // perfbench-engine, beside this executable
};

}  // namespace perfbench::harness
