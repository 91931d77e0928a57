// What the harness can see of this machine; the engine's own facts (spec::EnvironmentRecord) come beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/execute/launcher.h"
#include "harness/execute/machine_load.h"
#include "workloads/spec/environment.h"

namespace perfbench::harness {

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

struct EngineAnswer {
  std::optional<spec::EnvironmentRecord> facts;
  std::string error;  // why there are none
};
// What `perfbench-engine env` prints. Throws Cancelled once a byte can be read from `cancel_fd` (-1: none).
EngineAnswer ask_engine_environment(const EngineProgram& engine, int cancel_fd = -1);

struct FactQuery {
  EngineProgram engine;
  std::filesystem::path disk = ".";  // where run directories will be
  std::filesystem::path root = "/";  // tests put made-up /proc and /sys below another folder
};

MachineFacts collect_facts(const FactQuery& query);

}  // namespace perfbench::harness
