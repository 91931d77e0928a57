// Runs the built perfbench, as a user does.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/execute/process.h"

namespace perfbench::harness {

// In this folder, with these variables added to the environment.
inline ProcessEnd run_perfbench(std::vector<std::string> arguments, const std::filesystem::path& folder,
                                std::map<std::string, std::string> variables) {
  arguments.insert(arguments.begin(), PERFBENCH_BINARY_DIR "/bin/perfbench");
  return run_process({.command = std::move(arguments), .working_dir = folder, .environment = std::move(variables)});
}

}  // namespace perfbench::harness
