// Who used the cores between two looks at /proc, and what the hypervisor took (proc(5): /proc/stat, /proc/PID/stat).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

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

struct BusyProcess {
  std::int64_t pid = 0;
  std::string name;
  double cores = 0;  // how many it kept busy
};

struct CpuActivity {
  double steal_fraction = 0;      // of all cores' time
  std::vector<BusyProcess> busy;  // at least kBusyCores each, the busiest first
};

inline constexpr double kBusyCores = 0.05;

// `self` is left out.
CpuActivity activity_between(const CpuSnapshot& before, const CpuSnapshot& after, std::int64_t self);

}  // namespace perfbench::harness
