// Executes attempts in jobs of a launcher. A sweep announces its attempts, so that its jobs have all of them from the
// beginning and need no harness. A comparison gives its job one attempt after the other, as its verdicts demand them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/execute/attempt_execution.h"
#include "harness/launch/session.h"

namespace perfbench::harness {

// The meaning of an interruption by the user for jobs that run.
enum class OnInterrupt { cancel, detach, go_on };

struct RemoteOptions {
  std::vector<LaunchRequest> places;  // jobs take them in turn
  std::int64_t jobs = 1;              // sessions of a sweep that exist at once
  bool one_at_a_time = false;         // all attempts run in one job, each when execute() asks for it
  std::filesystem::path worker;       // the perfbench of the jobs
  // Empty: an interruption cancels.
  std::function<OnInterrupt()> ask = {};
  std::function<void(const std::string&)> say = {};
};

class RemoteSessions : public RemoteExecution {
 public:
  // Throws InputError if the launcher is not usable here.
  explicit RemoteSessions(RemoteOptions options);
  // Jobs that still have something to do are asked to end, unless the user detached from them.
  ~RemoteSessions() override;

  void announce(const std::vector<const Cell*>& cells, const ExecutionSettings& settings) override;
  FinishedAttempt execute(const Cell& cell, const ExecutionSettings& settings, const StepsListener& on_steps) override;

  bool starts_on_nodes() const override { return options_.places.front().launcher == "slurm"; }

  // Waits for the jobs of a sweep that an earlier harness left behind (open_sessions), and completes the run
  // directories of attempts that they did not finish. Jobs without all of their tasks are cancelled. Throws RemoteEnd
  // if the user interrupts it, and then has cancelled the jobs or left them running.
  void attach(const std::vector<SessionFolder>& sessions, int cancel_fd);

 private:
  struct Order {
    std::shared_ptr<Session> session;
    std::int64_t task = 0;
    const Cell* cell = nullptr;
    bool moved = false;  // to another job, because the previous job ended
  };

  std::shared_ptr<Session> open(const Cell& cell, const ExecutionSettings& settings);
  void submit(Session& session);
  std::int64_t add(Session& session, const Cell& cell, const ExecutionSettings& settings) const;
  Order order_for(const Cell& cell, const ExecutionSettings& settings);
  FinishedAttempt wait_for(Order& order, const ExecutionSettings& settings, const StepsListener& on_steps);
  std::optional<FinishedAttempt> taken(const Order& order) const;
  FinishedAttempt unfinished(const Order& order, const ExecutionSettings& settings);
  void go_on_elsewhere(Order& order, const ExecutionSettings& settings);
  FinishedAttempt cancelled(Order& order, const ExecutionSettings& settings);
  bool jobs_outlive_harness() const;
  // Asks for the state of each.
  bool all_ended() const;
  // Returns true if the user wants the jobs to be cancelled. Throws RemoteEnd if the user detaches.
  bool wait_for_all(int cancel_fd);
  void end_all(std::chrono::nanoseconds patience);
  void give_signs();
  void set_current(std::shared_ptr<Session> session);
  // Throws RemoteEnd if the user detaches. Returns whether to cancel.
  bool interrupted(int cancel_fd);
  void say(const std::string& text) const;

  RemoteOptions options_;
  std::vector<std::shared_ptr<JobLauncher>> launchers_;  // one for each place
  std::vector<std::shared_ptr<Session>> sessions_;
  std::deque<Order> announced_;
  std::shared_ptr<Session> current_;  // takes attempts that were not announced
  std::int64_t opened_ = 0;
  int fruitless_ = 0;      // jobs that ended since the last attempt that began
  bool detached_ = false;  // the jobs are left as they are
  std::mutex current_mutex_;
  Event leave_;
  std::thread pulse_;  // last: it uses the others
};

}  // namespace perfbench::harness
