// Who used the cores between two looks at /proc, and what the hypervisor took (proc(5): /proc/stat, /proc/PID/stat).
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
    std::int64_t total_ticks = 0;  // idle ones too
    std::int64_t busy_ticks = 0;   // without what was stolen
    std::int64_t steal_ticks = 0;
  };
  std::int64_t total_ticks = 0;  // of all cores, idle ones too
  std::int64_t steal_ticks = 0;
  std::int64_t cores = 0;
  std::map<std::int64_t, Core> by_core;
  std::map<std::int64_t, Process> processes;  // by pid
};

CpuSnapshot read_cpu_snapshot(const std::filesystem::path& root);

inline constexpr double kBusyCores = 0.05;

// `self` is left out.
CpuActivity activity_between(const CpuSnapshot& before, const CpuSnapshot& after, std::int64_t self);

// For ForeignLoad: the cores' own counters and the time that our processes were charged, so that work which began and
// ended in between is seen too.
struct LoadMoment {
  CpuSnapshot cpus;
  double own_s = 0;  // user and system time of this process and of its ended descendants
};

// Of now.
LoadMoment load_moment();

// Cores that this process may run on.
std::vector<std::int64_t> own_cores();

// Zero of both when the two moments are less than kFewestTicks of one core's clock ticks apart, summed over `cores`:
// the counters are too coarse for it. `self` is left out of `busiest`.
ForeignLoad load_between(const LoadMoment& before, const LoadMoment& after, const std::vector<std::int64_t>& cores,
                         double ticks_per_s, std::int64_t self);

inline constexpr std::int64_t kFewestTicks = 20;

// Between load_moment() before and after, on this machine.
ForeignLoad load_since(const LoadMoment& before);

}  // namespace perfbench::harness
