// The critical path of a traced step (harness/trace/critical_path.h) as blocks of its page.
#pragma once

#include <optional>
#include <string>

#include "harness/trace/critical_path.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// The path as a lane of the step's timeline, "matmul, rank 3" if it is on several ranks.
TimelineLane critical_path_lane(const harness::CriticalPath& path);

// For people the largest shares and the rest as one row, with times in ms and the ranks on which they pass, the largest
// first; for programs every share on every rank in nanoseconds.
Table critical_path_table(const harness::CriticalPath& path, Audience audience);

// "12.3 ms of the 14.0 ms of step 9 pass on rank 3; other ranks wait for it in all_reduce (dp)." nullopt unless one
// rank has most of the path and others wait for it long enough to matter.
std::optional<std::string> slow_rank_text(const harness::CriticalPath& path);

std::string no_path_text(harness::NoPath reason);

}  // namespace perfbench::reports
