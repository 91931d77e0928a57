// How the use cases that start the engine start it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "harness/app/installation.h"
#include "harness/execute/attempt_execution.h"

namespace perfbench::harness {

struct ExecutionOptions {
  double timeout_s = 3600;              // of an attempt
  std::int64_t memory_limit_bytes = 0;  // of all its ranks; 0: none
};

// 20260131T120000Z-3f09ac12d4: sorts by time, and two of one second differ by their processes, or within one by a
// number: 20260131T120000Z-3f09ac12d4-2.
std::string new_sweep_id();

// A new sweep of that kind, with the installation's engine and the cores this process may use.
ExecutionSettings execution_settings(const ExecutionOptions& options, SweepKind kind, std::filesystem::path runs,
                                     const Installation& installation);

// Where a database's run directories are unless another folder is named: beside it.
std::filesystem::path runs_folder(const std::filesystem::path& named, const std::filesystem::path& db);

}  // namespace perfbench::harness
