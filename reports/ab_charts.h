// What two sides came to, drawn: decisions, pairs, and where a difference comes from.
#pragma once

#include <vector>

#include "harness/ab/cell_verdict.h"
#include "reports/chart/chart.h"

namespace perfbench::reports {

// All decisions in one; then of each cell its pairs, those that do not count too, and of a cell whose difference is
// known in parts those; of very many cells those first whose verdict is not SAME.
std::vector<Chart> ab_charts(const std::vector<harness::CellVerdict>& cells);

}  // namespace perfbench::reports
