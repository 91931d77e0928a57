#include "harness/app/session_worker.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include "harness/app/execution.h"
#include "harness/evidence/run_directory.h"
#include "harness/execute/interruption.h"
#include "harness/execute/machine_load.h"
#include "harness/launch/kubernetes.h"
#include "harness/launch/launchers.h"
#include "harness/launch/session.h"
#include "harness/launch/session_folder.h"
#include "harness/pairs/instruction_counter.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"
#include "workloads/spec/node_limits.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
using Mark = SessionFolder::Mark;

constexpr std::chrono::milliseconds kBetweenReadings{100};
constexpr std::chrono::seconds kLongestWait{120};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

JobPlace job_place(const SessionRecord& session) {
  std::string host(256, '\0');
  if (gethostname(host.data(), host.size() - 1) != 0) host.clear();
  host.resize(host.find('\0') == std::string::npos ? host.size() : host.find('\0'));
  const bool by_slurm = session.launch.launcher == "slurm";
  const auto job = by_slurm ? variable("SLURM_JOB_ID") : "";
  const auto nodes = by_slurm ? variable("SLURM_JOB_NODELIST") : variable(kNodeVariable);
  return {.launcher = session.launch.launcher,
          .job = job.empty() ? session.session_id : job,
          .nodes = nodes.empty() ? host : nodes,
          .image = session.image};
}

class Worker {
 public:
  Worker(SessionFolder folder, SessionRecord session, const Installation& installation, Interruption& interruption)
      : folder_(std::move(folder)),
        session_(std::move(session)),
        installation_(installation),
        interruption_(interruption),
        counter_(hardware_instruction_counter()) {}

  WorkerEnd work() {
    for (std::int64_t number = 0;; ++number) {
      if (const auto end = wait_for(number)) return *end;
      if (folder_.done(number)) continue;  // by an earlier worker of a restarted job
      execute(number, folder_.task(number).value());
    }
  }

 private:
  // nullopt when the task is there.
  std::optional<WorkerEnd> wait_for(std::int64_t number) {
    const auto first_sign = folder_.last(SessionFolder::Sign::alive);
    auto sign = first_sign;
    auto signed_at = Clock::now();
    while (true) {
      if (must_end()) return WorkerEnd::cancelled;
      if (folder_.has(Mark::closed)) return WorkerEnd::complete;
      // Marks are read before the task: the harness writes tasks first.
      folder_.refresh();
      const bool is_last = folder_.has(Mark::complete);
      // Without a sign, the harness of this session may have been killed while the job was queued.
      if (is_last || sign != first_sign) harness_lives_ = true;
      if (harness_lives_ && folder_.task(number)) return std::nullopt;
      if (is_last) return WorkerEnd::complete;
      if (auto now = folder_.last(SessionFolder::Sign::alive); now != sign) {
        sign = std::move(now);
        signed_at = Clock::now();
      }
      if (Clock::now() - signed_at > kLongestWait) return WorkerEnd::abandoned;
      pollfd watched{.fd = interruption_.fd(), .events = POLLIN, .revents = 0};
      poll(&watched, 1, static_cast<int>(kBetweenReadings.count()));
    }
  }

  void give_sign() {
    if (Clock::now() - signed_ < kBetweenWorkerSigns) return;
    signed_ = Clock::now();
    folder_.give(SessionFolder::Sign::working, ++signs_);
  }

  // A cancelled attempt ends by the same signal that a scheduler would send.
  void pass_on_cancel() {
    give_sign();
    if (passed_on_ || !(folder_.has(Mark::cancel) || folder_.has(Mark::closed))) return;
    passed_on_ = true;
    kill(getpid(), SIGTERM);
  }

  bool must_end() {
    give_sign();
    if (interruption_.take()) interrupted_ = true;
    return interrupted_ || folder_.has(Mark::cancel);
  }

  // A scheduler that ends a job first ends the ranks in it and refuses new ones, which looks like a crash.
  bool job_is_ending() const {
    try {
      const auto launcher = make_launcher(session_.launch);
      if (!launcher->jobs_outlive_harness()) return false;
      const auto view = launcher->look(job_place(session_).job);
      return view.is_ending || (view.state == JobState::ended && !view.is_out_of_sight);
    } catch (const std::exception&) {
      return false;  // the launcher's programs are not on this node
    }
  }

  // If somebody else terminated the job, its launcher knows why, and the harness completes the attempt with that. A
  // harness that has given the job up has completed the attempt itself.
  bool may_record(std::int64_t number, bool cancel_seen) {
    if (cancel_seen || interruption_.take()) interrupted_ = true;
    folder_.refresh();
    if (folder_.is_lost(number) || folder_.has(Mark::closed)) return false;
    return !interrupted_ || folder_.has(Mark::cancel);
  }

  // The engine of an attempt is that of its submission. It may have been built anew while the job was queued.
  void check_engine(const SessionTask& task) {
    if (task.engine.empty() || task.attempt.engine_sha256.empty() || checked_ == task.engine) return;
    if (const auto found = engine_sha256(task.engine); found != task.attempt.engine_sha256) {
      throw InputError(
          fmt::format("[worker] {} has changed since the job was submitted (SHA-256 {}, now {}): submit "
                      "it again, and do not build while jobs are queued",
                      task.engine, task.attempt.engine_sha256, found.empty() ? "unreadable" : found));
    }
    checked_ = task.engine;
  }

  // A cluster may suspend a job and start it again (Kueue). The attempt that it was executing is lost.
  void complete_earlier(std::int64_t number, const Cell& cell, ExecutionSettings settings) {
    const auto begun = folder_.begun(number);
    if (!begun || is_complete_attempt(begun->directory)) return;
    settings.job->nodes.clear();  // this start may have another node
    complete_lost(attempt_directory(begun->directory), cell, settings, AttemptState::cancelled,
                  "its job was started again", begun->started_utc);
  }

  void execute(std::int64_t number, const SessionTask& task) {
    auto parts = parts_of(task, folder_.path().parent_path().parent_path());
    auto& settings = parts.settings;
    if (!parts.cell.run.program) check_engine(task);
    settings.launcher.adapter = {locate_adapter()};
    settings.launcher.mpirun = find_mpirun();
    settings.launcher.cores = spec::allowed_cores();
    if (settings.launcher.engine.file.empty()) {
      settings.launcher.engine = {installation_.engine};
      settings.engine_sha256 = engine_sha256(installation_.engine);
    }
    settings.job = job_place(session_);
    complete_earlier(number, parts.cell, settings);
    settings.machine_use = task.without_lock ? MachineUse::shared : MachineUse::alone;
    settings.cancel_fd = interruption_.fd();
    settings.on_directory = [&](const fs::path& directory) {
      folder_.write(number, TaskBegun{fs::absolute(directory).string(), utc_now()});
    };
    settings.on_wait = [this] { pass_on_cancel(); };
    bool is_recorded = true;
    settings.may_record = [&](AttemptState state, bool cancel_seen) {
      if (state == AttemptState::crashed && job_is_ending()) interrupted_ = true;
      return is_recorded = may_record(number, cancel_seen);
    };
    if (wait_for_machine(parts.cell, settings) == LockOutcome::cancelled) {
      interrupted_ = true;
      return;
    }
    const auto before = load_moment();
    counter_->start();
    const auto attempt = execute_attempt(parts.cell, settings, [this](std::int64_t) { pass_on_cancel(); });
    if (!is_recorded) return;
    const auto instructions = counter_->stop();
    const auto load = load_since(before);
    reports::print("{} {}\n", spec::enum_name(attempt.record.state), attempt.directory.string());
    folder_.write(number, TaskDone{.directory = fs::absolute(attempt.directory).string(),
                                   .steal_fraction = load.steal_fraction,
                                   .foreign_fraction = load.foreign_fraction,
                                   .busiest = load.busiest,
                                   .instructions = instructions});
  }

  SessionFolder folder_;
  SessionRecord session_;
  const Installation& installation_;
  Interruption& interruption_;
  std::unique_ptr<InstructionCounter> counter_;
  bool interrupted_ = false;
  bool passed_on_ = false;
  bool harness_lives_ = false;
  std::string checked_;  // path of the last engine that was found unchanged
  Clock::time_point signed_{};
  std::int64_t signs_ = 0;
};

}  // namespace

WorkerEnd work_on_session(const fs::path& folder, const Installation& installation, Interruption& interruption) {
  SessionFolder session(fs::absolute(folder));
  auto record = session.session();
  if (!record) {
    throw InputError(
        fmt::format("[worker] {} is not the folder of a session: it has no session.json. If it was written "
                    "on another machine, both need the same file system",
                    folder.string()));
  }
  std::error_code error;
  fs::current_path(record->working_dir, error);
  if (error) reports::print(stderr, "note: the folder {} is not here: {}\n", record->working_dir, error.message());
  return Worker(std::move(session), std::move(*record), installation, interruption).work();
}

}  // namespace perfbench::harness
