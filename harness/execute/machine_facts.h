// What the harness can see of this machine; the engine's own facts (spec::EnvironmentRecord) come beside it.
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
