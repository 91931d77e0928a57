// What cells and stages need against what a device has, drawn.
#pragma once

#include <vector>

#include "harness/plan/planner.h"
#include "reports/chart/chart.h"

namespace perfbench::reports {

// Of each cell that was counted the memory of a device, and what the device has where that is known.
Chart plan_chart(const std::vector<harness::PlannedCell>& plan);

// Of a cell that was counted, by stage of its pipeline; of one without stages a single bar.
Chart stages_chart(const harness::PlannedCell& planned);

}  // namespace perfbench::reports
