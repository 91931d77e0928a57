// The work that a run does while it waits for its turn. Threads that keep running in the other run's step slow that
// step down, and their own work appears in no step at all.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "harness/records/executed_pair.h"

namespace perfbench::harness {

// Watches the processes of one run. A wait is watched only after kWindDown: OpenMP's threads poll for about 0.1 ms
// before they sleep (harness/execute/launcher.cpp), and that does not count as work.
class WaitingLoad {
 public:
  static constexpr std::chrono::milliseconds kWindDown{1};

  // The process below which the run's processes are (Watch::on_start). May be called from any thread. Before that,
  // nothing is watched.
  void set_root(pid_t root) { root_ = root; }
  void begin();
  // Does nothing without a preceding begin().
  void end();
  WatchedWait watched() const { return watched_; }

 private:
  std::atomic<pid_t> root_{0};
  std::vector<pid_t> processes_;
  std::size_t walks_due_ = 0;  // number of waits until the processes are listed again
  std::map<pid_t, std::chrono::nanoseconds> before_;
  std::chrono::steady_clock::time_point since_;
  bool watching_ = false;
  WatchedWait watched_;
};

}  // namespace perfbench::harness
