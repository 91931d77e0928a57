// How the use cases start the engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "harness/app/installation.h"
#include "harness/execute/attempt_execution.h"

namespace perfbench::harness {

struct ExecutionOptions {
  double timeout_s = 3600;              // for an attempt
  std::int64_t memory_limit_bytes = 0;  // for all its ranks; 0: no limit
};

// 20260131T120000Z-3f09ac12d4: sorts by time. Two ids of the same second differ by their processes or, within a
// process, by a number: 20260131T120000Z-3f09ac12d4-2.
std::string new_sweep_id();

// Settings for a new sweep of that kind, with the installation's engine and the cores that this process may use.
ExecutionSettings execution_settings(const ExecutionOptions& options, SweepKind kind, std::filesystem::path runs,
                                     const Installation& installation);

// The folder of a database's run directories: `named`, or by default beside the database.
std::filesystem::path runs_folder(const std::filesystem::path& named, const std::filesystem::path& db);

}  // namespace perfbench::harness
