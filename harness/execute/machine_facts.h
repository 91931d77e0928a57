// Facts of this machine that the harness can see itself; the engine adds its own (spec::EnvironmentRecord).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/execute/launcher.h"
#include "harness/records/machine_facts.h"
#include "workloads/spec/environment.h"

namespace perfbench::harness {

struct EngineAnswer {
  std::optional<spec::EnvironmentRecord> facts;
  std::string error;  // why there is no answer
};
// Asks `perfbench-engine env` for its facts. Throws Cancelled once a byte can be read from `cancel_fd` (-1: cannot be
// cancelled).
EngineAnswer ask_engine_environment(const EngineProgram& engine, int cancel_fd = -1);

struct FactQuery {
  EngineProgram engine;
  std::filesystem::path disk = ".";  // the place of the run directories
  std::filesystem::path root = "/";  // tests put simulated /proc and /sys below another folder
};

MachineFacts collect_facts(const FactQuery& query);

}  // namespace perfbench::harness
