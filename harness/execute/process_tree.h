// The processes below one process, and what they hold, from /proc.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace perfbench::harness {

// Every process that descends from `root`, without `root`. A process that ends meanwhile is left out.
std::vector<pid_t> descendants(pid_t root);

// Kills every process that descends from `root`, and what they start meanwhile. They are not waited for.
void kill_descendants(pid_t root);

// Resident bytes of the processes together: the private pages of each, plus the largest shared part of any one, because
// the ranks of a node map the same segments and would count them once each.
std::int64_t resident_bytes(const std::vector<pid_t>& processes);

// Processor time that each process has used so far, of all its threads. A process that is gone is left out. Time of a
// thread that runs at this moment may be late by a tick of the kernel (up to 10 ms); of one that sleeps it is exact.
std::map<pid_t, std::chrono::nanoseconds> cpu_times(const std::vector<pid_t>& processes);

// Kills every process of this machine whose environment has the entry `variable` ("NAME=value"), and waits until all
// are gone, up to `patience`: one that is stuck in the kernel stays behind.
void kill_all_with(const std::string& variable, std::chrono::nanoseconds patience);

}  // namespace perfbench::harness
