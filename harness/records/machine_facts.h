// What the harness found out about this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/spec/environment.h"

namespace perfbench::harness {

struct BusyProcess {
  std::int64_t pid = 0;
  std::string name;
  double cores = 0;  // how many it kept busy
};

struct CpuActivity {
  double steal_fraction = 0;      // of all cores' time
  std::vector<BusyProcess> busy;  // at least kBusyCores each (harness/execute/machine_load.h), the busiest first
};

struct MachineFacts {
  std::optional<spec::EnvironmentRecord> engine;  // absent: perfbench-engine could not be asked
  std::string engine_error;                       // why
  std::vector<double> probe_ns;                   // times of the noise probe
  bool mpirun = false;
  std::vector<std::string> launcher_variables;  // of the environment (harness/system/environment_variables.h)
  bool cuda_device = false;
  bool virtual_machine = false;
  double load_1m = 0;
  CpuActivity activity;  // of others, while the engine was asked and probed
  std::int64_t swap_used_bytes = 0;
  std::optional<double> cpu_quota;           // cores' worth by control group
  std::optional<double> memory_limit_bytes;  // by control group
  std::string clock_source;
  std::string turbo;          // "on", "off" or "unknown"
  bool shared_cores = false;  // two logical cores are one physical core (SMT)
  std::int64_t disk_free_bytes = 0;
};

}  // namespace perfbench::harness
