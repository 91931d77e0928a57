// The perfbench-engine of a commit, built once and kept:
//
//     CACHE/<commit>-<key of the settings>/bin/perfbench-engine
//     CACHE/<commit>-<key of the settings>.log      of the build, also of one that failed
//     CACHE/<commit>-<key of the settings>.lock     locked during the build
//
// The key covers everything that changes the binary of a commit: options, the compiler and its flags, and the processor
// that -march=native stands for.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/pairs/git_history.h"

namespace perfbench::harness {

// The commit cannot be built; the message ends with the last lines of the log.
class BuildError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct BuildSettings {
  std::filesystem::path cache;
  std::vector<std::string> cmake_options = {};  // "-DPERFBENCH_CUDA=AUTO", the same for every commit
  int cancel_fd = -1;
  std::function<void(const std::string& line)> say = {};  // reports progress, because a build takes minutes
};

// XDG_CACHE_HOME/perfbench/builds, else ~/.cache/perfbench/builds, else below the folder of temporary files.
std::filesystem::path default_build_cache();

// The engine of the commit, if it is in the cache.
std::optional<std::filesystem::path> built_engine(const std::string& commit, const BuildSettings& settings);

// Builds the preset `engine` of the commit itself. Waits while another process builds the same one. Throws BuildError;
// Cancelled once a byte can be read from cancel_fd.
std::filesystem::path build_engine(const GitHistory& history, const std::string& commit, const BuildSettings& settings);

}  // namespace perfbench::harness
