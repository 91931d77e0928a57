#include "harness/adapter/environment_facts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "workloads/build_info/build_info.h"
#include "workloads/spec/node_facts.h"
#include "workloads/spec/node_limits.h"

namespace perfbench::adapter {
namespace {

// Reads the files of the GPU driver, because its library may need another C library than a static program has.
void add_gpus(spec::EnvironmentRecord& env) {
  constexpr std::string_view kModel = "Model:";
  std::error_code none;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    ++env.gpus;
    std::ifstream information(gpu.path() / "information");
    for (std::string line; env.gpu_model.empty() && std::getline(information, line);) {
      if (!line.starts_with(kModel)) continue;
      const auto begin = line.find_first_not_of(" \t", kModel.size());
      if (begin != std::string::npos) env.gpu_model = line.substr(begin);
    }
  }
}

}  // namespace

spec::EnvironmentRecord environment_facts(const spec::ProgramSpec& program) {
  auto env = spec::node_facts();
  const auto build = build_info::current();
  env.cores_allowed = spec::allowed_cores();
  env.engine_version = build.version;
  // The program's commit, if it has a repository. attempt.json records the perfbench that ran it.
  const auto commit = program.facts.find(spec::kCommitFact);
  if (commit != program.facts.end()) env.git_commit = commit->second;
  env.git_dirty = program.facts.contains(spec::kChangesFact);
  env.build_type = build.build_type;
  env.mpi = env.cuda = "absent";
  env.libraries = program.facts;
  add_gpus(env);
  return env;
}

}  // namespace perfbench::adapter
