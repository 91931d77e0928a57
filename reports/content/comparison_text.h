// A comparison for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "harness/judge/compare.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// A row for each cell and metric: the verdict, both numbers, their difference with the 95 % interval, the reason, and
// notes about other differences. JSON: {"baseline", "overall", "cells"}.
Document comparison_document(const std::vector<harness::CellComparison>& comparisons, const std::string& baseline);

}  // namespace perfbench::reports
