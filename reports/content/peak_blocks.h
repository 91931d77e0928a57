// What a run's memory is made of, as the engine counts it: blocks of the pages of a plan and of a run.
#pragma once

#include <cstddef>

#include "reports/render/document/document.h"
#include "workloads/spec/dry_counts.h"

namespace perfbench::reports {

// What is alive over a step, its phases shaded; without points where the engine does not say.
Chart course_chart(const spec::DryCounts& counts);

// Tensors alive at the peak, by kind: all.
Table tensors_table(const spec::DryCounts& counts, Audience audience = Audience::everyone);
// For people the `most` largest, with what the others come to.
Table largest_tensors_table(const spec::DryCounts& counts, std::size_t most);

// ": backward, layers.3 recompute, when layers.3.mlpwi was made"; empty where the engine does not say.
std::string moment_text(const spec::PeakMoment& moment);

}  // namespace perfbench::reports
