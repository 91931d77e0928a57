// A comparison for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/compare.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// A row for each cell and metric: verdict, both numbers, how they differ with the 95 % interval, why, and as notes what
// else differs. JSON: {"baseline", "overall", "cells"}.
Document comparison_document(const std::vector<harness::CellComparison>& comparisons, const std::string& baseline);

}  // namespace perfbench::reports
