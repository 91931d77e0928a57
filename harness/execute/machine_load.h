// Which processes used the cores between two readings of /proc, and how much time the hypervisor took (proc(5):
// /proc/stat, /proc/PID/stat).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/records/executed_pair.h"
#include "harness/records/machine_facts.h"

namespace perfbench::harness {

struct CpuSnapshot {
  struct Process {
    std::string name;
    std::int64_t ticks = 0;  // user and system
  };
  struct Core {
    std::int64_t total_ticks = 0;  // including idle ticks
    std::int64_t busy_ticks = 0;   // without stolen ticks
    std::int64_t steal_ticks = 0;
  };
  std::int64_t total_ticks = 0;  // of all cores, including idle ticks
  std::int64_t steal_ticks = 0;
  std::int64_t cores = 0;
  std::map<std::int64_t, Core> by_core;
  std::map<std::int64_t, Process> processes;  // by pid
};

CpuSnapshot read_cpu_snapshot(const std::filesystem::path& root);

inline constexpr double kBusyCores = 0.05;

// Leaves out the process `self`.
CpuActivity activity_between(const CpuSnapshot& before, const CpuSnapshot& after, std::int64_t self);

// A reading for ForeignLoad: the counters of the cores and the time charged to our processes. Counters also show work
// that began and ended between two readings.
struct LoadMoment {
  CpuSnapshot cpus;
  double own_s = 0;  // user and system time of this process and of its ended descendants
};

// The reading of this moment.
LoadMoment load_moment();

// The cores on which this process may run.
std::vector<std::int64_t> own_cores();

// Both loads are zero when the two moments are less than kFewestTicks clock ticks of one core apart, summed over
// `cores`: the counters are too coarse for less. `busiest` leaves out the process `self`.
ForeignLoad load_between(const LoadMoment& before, const LoadMoment& after, const std::vector<std::int64_t>& cores,
                         double ticks_per_s, std::int64_t self);

inline constexpr std::int64_t kFewestTicks = 20;

// The load on this machine since load_moment() returned `before`.
ForeignLoad load_since(const LoadMoment& before);

}  // namespace perfbench::harness
