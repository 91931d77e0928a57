// The harness's end of one session: submits its job, gives it tasks, and follows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "harness/launch/job_launcher.h"
#include "harness/launch/session_folder.h"

namespace perfbench::harness {

inline constexpr std::chrono::seconds kBetweenWorkerSigns{3};

// The task that executes this cell with these settings.
SessionTask task_of(const Cell& cell, const ExecutionSettings& settings);

// The cell and the settings of a task, for the worker and for attempts that it did not finish. Throws InputError if
// they cannot be understood.
struct TaskParts {
  Cell cell;
  ExecutionSettings settings;  // without launcher and cancel_fd
};
TaskParts parts_of(const SessionTask& task, const std::filesystem::path& runs);

class Session {
 public:
  // Makes the folder of a new session. Throws RunDirectoryError.
  Session(const std::filesystem::path& runs, const SessionRecord& record, std::shared_ptr<JobLauncher> launcher);
  // Continues to follow a session of an earlier harness.
  Session(SessionFolder folder, const SessionRecord& record, std::shared_ptr<JobLauncher> launcher);

  const SessionFolder& folder() const { return folder_; }

  // Returns the number of the task.
  std::int64_t add(const SessionTask& task);
  // No task follows: the job ends after the last one.
  void complete() { folder_.set(SessionFolder::Mark::complete); }
  // `worker`: the command that runs it, `perfbench worker FOLDER`. Throws LaunchError.
  void submit(const std::string& worker);

  // Asks the launcher, at most every few seconds. An ended job stays ended.
  const JobView& look();
  bool ended() const { return view_.state == JobState::ended; }
  // The job's state and nodes, if they have changed since the last call and the job has not ended; else empty.
  std::string news();
  JobPlace place() const;
  // "Slurm job 17 (TIMEOUT)"
  std::string job_text() const;
  // "Slurm job 17 (TIMEOUT) ended on n1"
  std::string end_text() const;
  // The last line that the job printed, and the place of the others; empty if it printed nothing.
  std::string log_text() const;

  // Asks the worker to end its attempt and to begin no other; a job that has not started is cancelled.
  void ask_to_end();
  // Ends the job without asking the worker. Further calls within kBetweenCancels do nothing.
  void cancel_job();
  // The results are taken over. A job that is still queued does nothing when it starts.
  void close();

 private:
  void search();
  // Whether the worker of a job out of sight has given a sign lately.
  bool worker_lives();

  SessionFolder folder_;
  std::string launcher_name_;
  std::string image_;
  std::shared_ptr<JobLauncher> launcher_;
  std::optional<std::string> job_;
  bool is_searched_ = false;  // the job of this name, whose handle was lost
  JobView view_;
  std::string told_;
  std::chrono::steady_clock::time_point cancelled_{};
  std::string worker_sign_;
  std::chrono::steady_clock::time_point worker_signed_{};
  std::chrono::steady_clock::time_point looked_{};
  std::int64_t tasks_ = 0;
};

}  // namespace perfbench::harness
