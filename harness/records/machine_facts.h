// Facts that the harness found about this machine.
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
  double cores = 0;  // number of cores that it kept busy
};

struct CpuActivity {
  double steal_fraction = 0;      // share of all cores' time
  std::vector<BusyProcess> busy;  // at least kBusyCores each (harness/execute/machine_load.h), the busiest first
};

struct MachineFacts {
  std::optional<spec::EnvironmentRecord> engine;  // nullopt: perfbench-engine did not answer
  std::string engine_error;                       // why it did not
  std::vector<double> probe_ns;                   // times of the noise probe
  bool mpirun = false;
  std::vector<std::string> launcher_variables;  // in the environment (harness/system/environment_variables.h)
  bool cuda_device = false;
  bool virtual_machine = false;
  double load_1m = 0;
  CpuActivity activity;  // of other processes, while the engine was queried and probed
  std::int64_t swap_used_bytes = 0;
  std::optional<double> cpu_quota;           // number of cores that the control group allows
  std::optional<double> memory_limit_bytes;  // limit of the control group
  std::string clock_source;
  std::string turbo;          // "on", "off" or "unknown"
  bool shared_cores = false;  // two logical cores share one physical core (SMT)
  std::int64_t disk_free_bytes = 0;
};

}  // namespace perfbench::harness
