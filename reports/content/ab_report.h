// The results of a comparison of two sides as charts: decisions, pairs, and the causes of a difference.
#pragma once

#include <string>
#include <vector>

#include "harness/app/pairs/ab_comparison.h"
#include "harness/judge/cell_verdict.h"
#include "reports/render/chart/chart.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// One chart of all decisions. Then, for each cell, its pairs, including those that do not count, and, if known, the
// parts of its difference. If there are very many cells, those whose verdict is not SAME come first.
std::vector<Chart> ab_charts(const std::vector<harness::CellVerdict>& cells);

// A comparison of two sides (harness/pairs) as a table for people and for programs: the sides, a row for each cell and
// metric, the basis of each verdict, and the discarded pairs with the reasons.
Document ab_document(const harness::AbReport& report);

// "passed", "failed" (something regressed) or "refused".
std::string gate_outcome(const harness::AbReport& report);

}  // namespace perfbench::reports
