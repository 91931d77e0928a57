// How the use cases start the engine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/execute/attempt_execution.h"
#include "harness/launch/remote_sessions.h"

namespace perfbench::harness {

class Interruption;

// Where attempts are executed.
struct LaunchOptions {
  std::string launcher = "local";         // parse_launcher() of harness/launch/launchers.h
  std::string image = {};                 // of a launcher that starts containers
  std::int64_t jobs = 1;                  // sessions of a sweep that exist at once
  std::vector<std::string> options = {};  // more words for the command that submits a job

  bool is_local() const { return launcher == "local"; }
  bool is_container() const { return runs_in_image(launcher); }
};

struct ExecutionOptions {
  double timeout_s = 3600;              // for an attempt
  std::int64_t memory_limit_bytes = 0;  // for all its ranks; 0: no limit
  MachineUse machine_use = MachineUse::alone;
  LaunchOptions launch = {};
  RemoteExecution* remote = nullptr;  // executes the attempts of several use cases; null: `launch` says where they run
};

// 20260131T120000Z-3f09ac12d4: sorts by time. Two ids of the same second differ by their processes or, within a
// process, by a number: 20260131T120000Z-3f09ac12d4-2.
std::string new_sweep_id();

// Settings for a new sweep of that kind, with the installation's engine and the cores that this process may use.
ExecutionSettings execution_settings(const ExecutionOptions& options, SweepKind kind, std::filesystem::path runs,
                                     const Installation& installation);

// How many jobs a use case needs. With one_job, its parts run beside each other on the same nodes.
enum class JobUse { several_jobs, one_job };

// Returns null if attempts are executed here. On a terminal, an interruption asks whether to cancel the jobs. Elsewhere
// it cancels them. Throws InputError if the launcher cannot be used here.
std::unique_ptr<RemoteSessions> remote_sessions(const LaunchOptions& options, Interruption& interruption,
                                                JobUse use = JobUse::several_jobs);

// The folder of a database's run directories: `named`, or by default beside the database.
std::filesystem::path runs_folder(const std::filesystem::path& named, const std::filesystem::path& db);

}  // namespace perfbench::harness
