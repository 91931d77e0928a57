// A plan for people. What programs read of one, which may have a hundred thousand cells, is written piece by piece
// (harness/plan/plan_export.h).
#pragma once

#include <string>
#include <vector>

#include "harness/plan/planner.h"
#include "reports/document/document.h"

namespace perfbench::reports {

// A row for each cell, then how many there are of each state.
Document plan_document(const std::string& matrix, const std::vector<harness::PlannedCell>& plan);

}  // namespace perfbench::reports
