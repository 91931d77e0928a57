// The engine's spans as NVTX ranges, so that Nsight Systems and whatever else reads NVTX shows them by the names of the
// trace. nvtx_ranges.cpp, or no_nvtx.cpp in a build without the headers (which are all that NVTX is: what reads the
// ranges is loaded with the first of them, and without a reader a range costs a branch).
#pragma once

#include <memory>
#include <string>

#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

inline constexpr const char* kNvtxDomain = "perfbench";

// A sink that pushes and pops a range for every span, of a category by the span's kind and with its bytes as payload,
// and hands the span on to `next`, which it does not own; null: to nobody. Null in a build without NVTX.
std::unique_ptr<TraceSink> make_nvtx_ranges(TraceSink* next);
// "3", the version of the interface, or "absent".
std::string nvtx_version();

// Whether PERFBENCH_NVTX=1 asks for ranges of timed steps too. Elsewhere they are pushed in traced steps alone.
bool nvtx_wanted_in_timed_steps();

}  // namespace perfbench::engine
