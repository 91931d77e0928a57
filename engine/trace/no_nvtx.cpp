// Stands in for nvtx_ranges.cpp in builds without NVTX.
#include "engine/trace/nvtx_ranges.h"

namespace perfbench::engine {

std::unique_ptr<TraceSink> make_nvtx_ranges(TraceSink*) {
  return nullptr;
}

std::string nvtx_version() {
  return "absent";
}

}  // namespace perfbench::engine
