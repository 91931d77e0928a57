#include "harness/app/installation.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "harness/input_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

fs::path own_folder() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

bool has_data(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "workloads" / "models", ignored);
}

}  // namespace

fs::path locate_data_dir() {
  if (const char* set = std::getenv("PERFBENCH_DATA_DIR")) {
    if (has_data(set)) return set;
    throw InputError("[perfbench] PERFBENCH_DATA_DIR is '" + std::string(set) +
                     "', which has no workloads/models; set it to the repository or to <prefix>/share/perfbench");
  }
  const std::vector<fs::path> candidates{own_folder() / "../share/perfbench", PERFBENCH_SOURCE_DIR};
  for (const auto& candidate : candidates) {
    if (has_data(candidate)) return fs::weakly_canonical(candidate);
  }
  throw InputError("[perfbench] no folder with workloads/models beside " + own_folder().string() +
                   "; set PERFBENCH_DATA_DIR to the repository or to <prefix>/share/perfbench");
}

fs::path locate_engine() {
  if (const char* set = std::getenv("PERFBENCH_ENGINE")) return set;
  const auto beside = own_folder() / "perfbench-engine";
  std::error_code ignored;
  if (fs::exists(beside, ignored)) return beside;
  return own_folder() / "../engine/perfbench-engine";
}

}  // namespace perfbench::harness
