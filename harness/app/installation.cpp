#include "harness/app/installation.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "harness/execute/process.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

constexpr std::array<std::string_view, 7> kComputing{"libdnnl.", "libopenblas", "libblas.", "libmkl_",
                                                     "libgomp.", "libomp.",     "libblosc."};
constexpr std::chrono::seconds kPatience{20};

bool computes(std::string_view name) {
  return std::any_of(kComputing.begin(), kComputing.end(), [name](auto start) { return name.starts_with(start); });
}

}  // namespace

std::vector<SharedLibrary> parse_loaded_libraries(std::string_view listing) {
  std::vector<SharedLibrary> out;
  std::istringstream lines{std::string(listing)};
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kArrow = " => ";
    const auto begin = line.find_first_not_of("\t ");
    const auto arrow = line.find(kArrow);
    const auto address = line.rfind(" (0x");
    if (begin == std::string::npos || arrow == std::string::npos || address == std::string::npos) continue;
    const auto from = arrow + kArrow.size();
    if (arrow <= begin || address <= from) continue;
    const auto name = line.substr(begin, arrow - begin);
    if (name.find('/') == std::string::npos && computes(name)) out.push_back({name, line.substr(from, address - from)});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

std::vector<SharedLibrary> computing_libraries(const std::filesystem::path& engine) {
  try {
    const auto end = run_process(
        {.command = {std::filesystem::absolute(engine).string()}, .environment = {{"LD_TRACE_LOADED_OBJECTS", "1"}}},
        {.time_limit = kPatience});
    return end.succeeded() ? parse_loaded_libraries(end.output) : std::vector<SharedLibrary>();
  } catch (const LaunchError&) {
    return {};
  }
}

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

fs::path locate_adapter() {
  if (const char* set = std::getenv("PERFBENCH_ADAPTER")) return set;
  const auto beside = own_folder() / "perfbench-adapter";
  std::error_code ignored;
  if (fs::exists(beside, ignored)) return beside;
  return own_folder() / "../harness/adapter/perfbench-adapter";
}

}  // namespace perfbench::harness
