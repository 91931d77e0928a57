// Two runs that exist at the same time and take their steps in turns, so that other activity of the machine affects
// both equally: one sleeps while the other steps (workloads/spec/turn_files.h).
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "harness/records/executed_pair.h"

namespace perfbench::harness {

// The interface between a run and its turns.
struct Seat {
  std::filesystem::path folder;  // for the --turns option of its engine
  int cancel_fd = -1;
  // How long the run has been waiting for its turn. This does not count against its time limit. May be called from any
  // thread.
  std::function<std::chrono::nanoseconds()> waited;
  // Receives the process below which the run's processes are (Watch::on_start), so that its waiting can be watched.
  std::function<void(pid_t)> started;
};

struct Player {
  std::int64_t ranks = 1;
  std::function<void(const Seat&)> play;  // executes the run in a thread of its own, and returns when it has ended
};

// First `first` starts alone and runs up to its first step. Then `second` does the same while `first` waits. After that
// each takes a step in every turn; `first_begins`, called once a turn, decides the order. If one ends, the other one
// continues alone. A byte from `cancel_fd` (-1: cannot be cancelled) reaches both. Returns when both have ended, or
// throws what their `play` threw; if both threw, that of `first`. Returns the work that `first` and `second` did during
// steps of the other.
std::array<WatchedWait, 2> take_turns(const Player& first, const Player& second,
                                      const std::function<bool()>& first_begins, int cancel_fd);

}  // namespace perfbench::harness
