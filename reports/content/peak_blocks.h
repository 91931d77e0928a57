// The memory of a run, as the engine counts it: blocks in the pages of a plan and of a run.
#pragma once

#include <cstddef>

#include "reports/render/document/document.h"
#include "workloads/spec/dry_counts.h"

namespace perfbench::reports {

// The memory in use over a step, with its phases shaded; without points if the engine does not report it.
Chart course_chart(const spec::DryCounts& counts);

// All tensors in use at the peak, by kind.
Table tensors_table(const spec::DryCounts& counts, Audience audience = Audience::everyone);
// For people the `most` largest, with the sum of the others.
Table largest_tensors_table(const spec::DryCounts& counts, std::size_t most);

// ": backward, layers.3 recompute, when layers.3.mlpwi was made"; empty if the engine does not report it.
std::string moment_text(const spec::PeakMoment& moment);

}  // namespace perfbench::reports
