// One attempt's steps as charts.
#pragma once

#include <vector>

#include "reports/render/chart/chart.h"
#include "workloads/spec/step_record.h"

namespace perfbench::reports {

// From a run's step records, sorted by rank, then step: the time of each step with the warm-up shaded
// (harness/stats/steady.h), the distribution of steady step times, the phases of a steady step, the loss, and the use
// of memory at its peak. Charts without data are left out.
std::vector<Chart> run_charts(const std::vector<spec::StepRecord>& steps);

}  // namespace perfbench::reports
