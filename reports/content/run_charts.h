// One attempt's steps, drawn.
#pragma once

#include <vector>

#include "reports/render/chart/chart.h"
#include "workloads/spec/step_record.h"

namespace perfbench::reports {

// Of a run's step records, by rank, then step: the time of each step with the warm-up shaded (harness/stats/steady.h),
// how often steady steps took how long, the phases of a steady step, the loss, and what memory was for at its peak.
// Nothing of what the records do not have.
std::vector<Chart> run_charts(const std::vector<spec::StepRecord>& steps);

}  // namespace perfbench::reports
