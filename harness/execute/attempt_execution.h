// Executes one cell once and leaves a complete run directory.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/evidence/attempt.h"
#include "harness/execute/launcher.h"
#include "harness/matrix/matrix.h"

namespace perfbench::harness {

struct ExecutionSettings {
  std::filesystem::path runs;
  Launcher launcher = {};
  std::chrono::nanoseconds time_limit = std::chrono::hours(1);
  std::function<std::chrono::nanoseconds()> paused = {};  // Watch::paused
  std::function<void(pid_t)> on_start = {};               // Watch::on_start
  std::chrono::nanoseconds grace = std::chrono::seconds(5);
  std::int64_t memory_limit_bytes = 0;  // for all processes of an attempt together; 0: no limit
  int cancel_fd = -1;
  std::string sweep_id = {};
  SweepKind sweep_kind = SweepKind::hand;
  std::string engine_sha256 = {};  // AttemptRecord's; likewise the next
  std::int64_t repeats = 0;
  std::string only = {};  // AttemptRecord::only; likewise the next
  std::optional<SweepWords> words = {};
  std::string perfbench_version = {};
};

struct FinishedAttempt {
  std::filesystem::path directory;
  AttemptRecord record;
  bool cancel_seen = false;  // an interruption arrived meanwhile, whatever ended the attempt
};

// AttemptRecord::engine_sha256; empty if the file cannot be read.
std::string engine_sha256(const std::filesystem::path& engine);

// Called several times a second with the number of steps that rank 0 has finished.
using StepsListener = std::function<void(std::int64_t steps)>;

// If the engine cannot be started, the attempt counts as crashed. Throws RunDirectoryError when the files cannot be
// written.
FinishedAttempt execute_attempt(const Cell& cell, const ExecutionSettings& settings, const StepsListener& on_steps);

// Leaves a run directory for a cell that is not executed.
FinishedAttempt record_without_execution(const Cell& cell, const ExecutionSettings& settings, AttemptState state,
                                         const std::string& reason);

}  // namespace perfbench::harness
