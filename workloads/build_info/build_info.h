// The sources and settings that these binaries were built from, for env.json and `--version`.
#pragma once

#include <string_view>

namespace perfbench::build_info {

struct BuildInfo {
  std::string_view version;         // of the project
  std::string_view git_commit;      // 40 hex digits, or "unknown" outside a git checkout
  bool git_dirty;                   // whether a compiled file differed from the commit
  std::string_view compiler;        // "GNU 12.2.0"
  std::string_view compiler_flags;  // optimisation, -march of the kernels, sanitizers
  std::string_view build_type;      // of CMake
};

BuildInfo current();

}  // namespace perfbench::build_info
