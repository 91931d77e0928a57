// The result of a run over all its ranks.
#pragma once

#include <vector>

#include "engine/main/ranks.h"
#include "engine/sharding/context.h"
#include "workloads/spec/dry_counts.h"
#include "workloads/spec/run_summary.h"

namespace perfbench::engine {

// The counts of the last step on this rank.
struct StepCounts {
  spec::FlopCounts flops;
  std::vector<spec::AxisTraffic> traffic;
};
StepCounts counts_of_step(const Context& context);

// The memory of all ranks so far, and the mean of their FLOPs in `step`. The traffic is this rank's. Collective: every
// rank must call it.
spec::RunSummary run_result(const spec::RunSpec& run, const Ranks& ranks, const Context& context,
                            const StepCounts& step);

}  // namespace perfbench::engine
