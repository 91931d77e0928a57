// Starts a worker of a session somewhere: submits a job, asks how it is, cancels it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/launch/session_folder.h"

namespace perfbench::harness {

struct JobRequest {
  std::string name;                  // of the job: a lost job is found by it
  std::vector<std::string> command;  // the worker
  std::filesystem::path log;         // receives its output
};

enum class JobState {
  queued,   // the job is known, and has not started
  running,  // it runs, or is about to end
  ended,
  unknown,  // the launcher does not answer now
};

struct JobView {
  JobState state = JobState::unknown;
  std::string what;   // in the launcher's words: "TIMEOUT", "PENDING (Resources)"
  std::string nodes;  // empty: none yet
  // The state of the attempt that an ended job did not finish.
  AttemptState unfinished = AttemptState::crashed;
  // Whether another job can be expected to get further: this one was ended by a limit or by its node.
  bool may_go_on = false;
  bool is_ending = false;  // of a running job: the launcher ends it
  // The launcher has lost sight of the job: it does not know it any more, or cannot reach its node. The job may run on.
  bool is_out_of_sight = false;
};

class JobLauncher {
 public:
  JobLauncher() = default;
  JobLauncher(const JobLauncher&) = delete;
  JobLauncher& operator=(const JobLauncher&) = delete;
  virtual ~JobLauncher() = default;

  // "Slurm job": how messages name a job.
  virtual std::string job_word() const = 0;
  // The image that jobs run in: its id, or its name if only the job's node knows the id; empty: no container.
  virtual std::string image() const { return ""; }
  // True if a job survives the end of this process.
  virtual bool jobs_outlive_harness() const = 0;
  // Throws LaunchError with the launcher's message.
  virtual std::string submit(const JobRequest& request) = 0;
  // Finds a job by its name. Returns nullopt if there is none. Throws LaunchError if the launcher does not answer.
  virtual std::optional<std::string> find(const std::string& name) = 0;
  virtual JobView look(const std::string& job) = 0;
  // Does nothing if the job has ended.
  virtual void cancel(const std::string& job) = 0;
};

}  // namespace perfbench::harness
