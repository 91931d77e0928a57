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

}  // namespace perfbench::harness
