// --timeout and --memory-limit: what the commands that start the engine share.
#pragma once

#include <filesystem>

#include "harness/cli/commands.h"
#include "harness/run/attempt_execution.h"

namespace perfbench::harness {

struct ExecutionOptions {
  double timeout_s = 3600;
  double memory_limit_gib = 0;  // 0: none
};

void add_execution_options(CLI::App& command, ExecutionOptions& options);

// A new sweep of that kind, with the engine beside this executable and the cores this process may use.
ExecutionSettings execution_settings(const ExecutionOptions& options, SweepKind kind, std::filesystem::path runs,
                                     const CommandContext& context);

}  // namespace perfbench::harness
