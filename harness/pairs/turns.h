// Two runs that are alive together and take their steps in turns, so that whatever else the machine does hits both
// alike: one sleeps while the other steps (workloads/spec/turn_files.h).
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "harness/pairs/waiting_load.h"

namespace perfbench::harness {

// What a run gets to take its turns.
struct Seat {
  std::filesystem::path folder;  // for its engine's --turns
  int cancel_fd = -1;
  // How long it has been waiting for its turn: no time of its own, and not to count against its time limit. Called
  // from any thread.
  std::function<std::chrono::nanoseconds()> waited;
  // To be told the process below which the run's are (Watch::on_start), so that its waits can be watched.
  std::function<void(pid_t)> started;
};

struct Player {
  std::int64_t ranks = 1;
  std::function<void(const Seat&)> play;  // executes the run, and returns when that has ended; in a thread of its own
};

// `first` starts alone until it is about to take its first step, then `second` does, while `first` waits. After that
// each takes a step in every turn; `first_begins`, asked once a turn, says in which order. One that has ended leaves
// the other to go on alone. A byte from `cancel_fd` (-1: none) reaches both. Returns when both have ended, or throws
// what their `play` threw, of `first` where both did. Returns what `first` and `second` computed during steps of the
// other.
std::array<WatchedWait, 2> take_turns(const Player& first, const Player& second,
                                      const std::function<bool()>& first_begins, int cancel_fd);

}  // namespace perfbench::harness
