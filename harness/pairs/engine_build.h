// perfbench-engine of a commit, built once and kept:
//
//   CACHE/<commit>-<key of the settings>/bin/perfbench-engine
//   CACHE/<commit>-<key of the settings>.log      of the build, also of one that failed
//   CACHE/<commit>-<key of the settings>.lock     held while it is built
//
// The key covers all that makes another binary of the same commit: options, compiler and its flags, the processor that
// -march=native means.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/pairs/git_history.h"

namespace perfbench::harness {

// The commit cannot be built; the message ends with the end of the log.
class BuildError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct BuildSettings {
  std::filesystem::path cache;
  std::vector<std::string> cmake_options = {};  // "-DPERFBENCH_CUDA=AUTO", for every commit the same
  int cancel_fd = -1;
  std::function<void(const std::string& line)> say = {};  // what is being done; a build takes minutes
};

// XDG_CACHE_HOME/perfbench/builds, else ~/.cache/perfbench/builds, else below the folder of temporary files.
std::filesystem::path default_build_cache();

// The engine of the commit, where the cache has it.
std::optional<std::filesystem::path> built_engine(const std::string& commit, const BuildSettings& settings);

// With the preset `engine` of the commit itself. Waits while another process builds the same. Throws BuildError;
// Cancelled once a byte can be read from cancel_fd.
std::filesystem::path build_engine(const GitHistory& history, const std::string& commit, const BuildSettings& settings);

}  // namespace perfbench::harness
