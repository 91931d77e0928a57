// The engine's spans as NVTX ranges, so that Nsight Systems and other readers of NVTX show them by their trace names.
// Implemented in nvtx_ranges.cpp, or in no_nvtx.cpp in a build without the headers. (NVTX is headers only: a reader is
// loaded with the first range, and without a reader a range costs one branch.)
#pragma once

#include <memory>
#include <string>

#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

inline constexpr const char* kNvtxDomain = "perfbench";

// A sink that pushes and pops a range for every span, with the span's kind as category and its bytes as payload, and
// passes the span on to `next`, which it does not own and which may be null. Returns null in a build without NVTX.
std::unique_ptr<TraceSink> make_nvtx_ranges(TraceSink* next);
// The version of the interface, such as "3", or "absent".
std::string nvtx_version();

// Whether PERFBENCH_NVTX=1 asks for ranges of timed steps too. By default only traced steps push them.
bool nvtx_wanted_in_timed_steps();

}  // namespace perfbench::engine
