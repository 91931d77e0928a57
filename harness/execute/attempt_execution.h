// Executes one cell once and leaves a complete run directory.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/evidence/run_directory.h"
#include "harness/execute/launcher.h"
#include "harness/execute/machine_lock.h"
#include "harness/matrix/matrix.h"
#include "harness/records/executed_pair.h"

namespace perfbench::harness {

class RemoteExecution;

// Whether attempts wait until no other process measures on this machine (machine_lock.h).
enum class MachineUse { shared, alone };

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
  std::optional<JobPlace> job = {};  // AttemptRecord::job
  // Called with the run directory, before anything starts.
  std::function<void(const std::filesystem::path&)> on_directory = {};
  // Called with the state, and with whether an interruption was seen, before attempt.json is written. Returns whether
  // to write it: another process may have completed the attempt, or may know better why it ended. Empty: it is written.
  std::function<bool(AttemptState, bool)> may_record = {};
  MachineUse machine_use = MachineUse::shared;
  std::function<void()> on_wait = {};  // called several times a second while it waits for the machine
  RemoteExecution* remote = nullptr;   // executes every attempt; null: they are executed here
};

// Measurements around an attempt, by the machine that executed it.
struct Surroundings {
  ForeignLoad load;
  std::optional<std::int64_t> instructions;
};

struct FinishedAttempt {
  std::filesystem::path directory;
  AttemptRecord record;
  bool cancel_seen = false;                       // an interruption arrived meanwhile, whatever ended the attempt
  std::optional<Surroundings> surroundings = {};  // of an attempt that was executed on another machine
  // Its job ended while it ran, or it ran in another job than the attempt before it. That says nothing about its
  // engine.
  bool disturbed_by_job = false;
};

// AttemptRecord::engine_sha256; empty if the file cannot be read.
std::string engine_sha256(const std::filesystem::path& engine);

// The record of an attempt that begins now.
AttemptRecord new_record(const Cell& cell, const ExecutionSettings& settings, std::int64_t attempt);

// Waits until no other process measures on this machine, if the settings ask for that. execute_attempt() does it, too:
// callers that read the machine's load around an attempt wait before their first reading.
LockOutcome wait_for_machine(const Cell& cell, const ExecutionSettings& settings);

// Called several times a second with the number of steps that rank 0 has finished.
using StepsListener = std::function<void(std::int64_t steps)>;

// If the engine cannot be started, the attempt counts as crashed. Throws RunDirectoryError when the files cannot be
// written, RemoteEnd if the attempts are executed elsewhere and that has ended.
FinishedAttempt execute_attempt(const Cell& cell, const ExecutionSettings& settings, const StepsListener& on_steps);

// Completes the run directory of an attempt whose harness has ended without doing so. `started_utc`: when it began.
FinishedAttempt complete_lost(const AttemptDirectory& directory, const Cell& cell, const ExecutionSettings& settings,
                              AttemptState state, const std::string& reason, const std::string& started_utc);

// Leaves a run directory for a cell that is not executed.
FinishedAttempt record_without_execution(const Cell& cell, const ExecutionSettings& settings, AttemptState state,
                                         const std::string& reason);

// The other machine has ended before an attempt began there: "[launch] Slurm job 17 ended (TIMEOUT) ...". Attempts that
// ended before have complete run directories.
class RemoteEnd : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Executes attempts on another machine, which leaves the same run directories as an execution here.
class RemoteExecution {
 public:
  RemoteExecution() = default;
  RemoteExecution(const RemoteExecution&) = delete;
  RemoteExecution& operator=(const RemoteExecution&) = delete;
  virtual ~RemoteExecution() = default;

  // Announces all attempts, in the order in which execute() will be called for them. They may run ahead of these calls,
  // and no other attempts follow.
  virtual void announce(const std::vector<const Cell*>& cells, const ExecutionSettings& settings) = 0;

  // Does what execute_attempt() does here. Throws RemoteEnd, LaunchError, RunDirectoryError.
  virtual FinishedAttempt execute(const Cell& cell, const ExecutionSettings& settings,
                                  const StepsListener& on_steps) = 0;

  // Whether its jobs may have several nodes, on each of which a program can be started.
  virtual bool starts_on_nodes() const { return false; }
};

// Where cells are to run. Whether a node of a cluster has their devices is seen there.
enum class RunsWhere { here, elsewhere, on_nodes_elsewhere };

// `remote`: null if they run here.
inline RunsWhere runs_where(const RemoteExecution* remote) {
  if (remote == nullptr) return RunsWhere::here;
  return remote->starts_on_nodes() ? RunsWhere::on_nodes_elsewhere : RunsWhere::elsewhere;
}

}  // namespace perfbench::harness
