// What two sides came to, drawn: decisions, pairs, and where a difference comes from.
#pragma once

#include <string>
#include <vector>

#include "harness/app/pairs/ab_comparison.h"
#include "harness/judge/cell_verdict.h"
#include "reports/render/chart/chart.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// All decisions in one; then of each cell its pairs, those that do not count too, and of a cell whose difference is
// known in parts those; of very many cells those first whose verdict is not SAME.
std::vector<Chart> ab_charts(const std::vector<harness::CellVerdict>& cells);

// A comparison of two sides (harness/pairs) as a table for people and for programs.
// Who was compared, a row per cell and metric, what each verdict rests on, what was discarded and why.
Document ab_document(const harness::AbReport& report);

// "passed", "failed" (something regressed) or "refused".
std::string gate_outcome(const harness::AbReport& report);

}  // namespace perfbench::reports
