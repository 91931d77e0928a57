#include <cstdlib>
#include <string_view>

#include "engine/core/error.h"
#include "engine/trace/nvtx_ranges.h"

namespace perfbench::engine {

bool nvtx_wanted_in_timed_steps() {
  const char* const set = std::getenv("PERFBENCH_NVTX");
  const std::string_view wanted = set == nullptr ? "" : set;
  if (wanted.empty() || wanted == "0") return false;
  if (wanted != "1") {
    throw BadInput("PERFBENCH_NVTX is '" + std::string(wanted) + "', it must be 1 (ranges in timed steps too) or 0");
  }
  if (nvtx_version() == "absent") {
    throw BadInput(
        "PERFBENCH_NVTX=1: this perfbench-engine was built without NVTX; build it where nvtx3/nvToolsExt.h of the CUDA "
        "toolkit is (PERFBENCH_NVTX_INCLUDE)");
  }
  return true;
}

}  // namespace perfbench::engine
