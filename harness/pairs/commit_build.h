// Builds a commit once and keeps the result: the perfbench-engine of a commit of perfbench, or the tree of a training
// program in which the commands of its matrix ran.
//
//     CACHE/<commit>-<key>/bin/perfbench-engine   an engine
//     CACHE/<commit>-<key>.tree                   the tree of a program, complete if there is
//     CACHE/<commit>-<key>.built
//     CACHE/<commit>-<key>.log                    of the build, also of one that failed
//     CACHE/<commit>-<key>.lock                   locked during the build
//
// The key of an engine covers everything that changes the binary of a commit: options, the compiler and its flags, and
// the processor that -march=native stands for. The key of a tree covers the commands as well. The 20 trees that were
// used last are kept.
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

// Each a program with its arguments. They run in the tree, in this order.
using BuildCommands = std::vector<std::vector<std::string>>;

// XDG_CACHE_HOME/perfbench/builds, else ~/.cache/perfbench/builds, else below the folder of temporary files.
std::filesystem::path default_build_cache();

// The engine of the commit, if it is in the cache.
std::optional<std::filesystem::path> built_engine(const std::string& commit, const BuildSettings& settings);

// Builds the preset `engine` of the commit itself. Waits while another process builds the same one. Throws BuildError;
// Cancelled once a byte can be read from cancel_fd.
std::filesystem::path build_engine(const GitHistory& history, const std::string& commit, const BuildSettings& settings);

// The tree of the commit after these commands. It stays where it was built, because builds record absolute paths.
// Throws as build_engine does.
std::filesystem::path build_tree(const GitHistory& history, const std::string& commit, const BuildCommands& commands,
                                 const BuildSettings& settings);

}  // namespace perfbench::harness
