// The engine's commands. Each takes its arguments without the name of the command.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "engine/core/error.h"

namespace perfbench::engine {

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

EngineExit run_command(const std::vector<std::string>& args);
EngineExit dry_command(const std::vector<std::string>& args);
EngineExit check_command(const std::vector<std::string>& args);
EngineExit env_command(const std::vector<std::string>& args);
EngineExit overhead_command(const std::vector<std::string>& args);
EngineExit probe_command(const std::vector<std::string>& args);
EngineExit weights_command(const std::vector<std::string>& args);

}  // namespace perfbench::engine
