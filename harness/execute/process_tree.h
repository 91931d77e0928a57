// The descendants of a process and their resources, from /proc.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace perfbench::harness {

// All descendants of `root`, without `root`. A process that ends meanwhile is left out.
std::vector<pid_t> descendants(pid_t root);

// Kills all descendants of `root`, including those that are started meanwhile. Does not wait for them.
void kill_descendants(pid_t root);

// Resident bytes of the processes together: the private pages of each, plus the largest shared part of any one. The
// ranks of a node map the same segments, which would otherwise count once for each rank.
std::int64_t resident_bytes(const std::vector<pid_t>& processes);

// Whether the process is in another namespace of process ids, as those inside a container are and its client is not.
// False for a process that is gone.
bool has_own_process_ids(pid_t process);

// Processor time that each process has used so far, over all its threads. Leaves out processes that are gone. The time
// of a thread that is running may lag by a tick of the kernel (up to 10 ms); that of a sleeping thread is exact.
std::map<pid_t, std::chrono::nanoseconds> cpu_times(const std::vector<pid_t>& processes);

// Kills every process of this machine whose environment has the entry `variable` ("NAME=value"), and waits up to
// `patience` until all are gone. A process that is stuck in the kernel stays behind.
void kill_all_with(const std::string& variable, std::chrono::nanoseconds patience);

}  // namespace perfbench::harness
