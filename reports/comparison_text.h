// A comparison for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "harness/compare/compare.h"
#include "reports/format/escaped_text.h"

namespace perfbench::reports {

// Per cell: verdict, both numbers, ratio with its 95 % interval, why, and what else differs.
Plain comparison_text(const std::vector<harness::CellComparison>& comparisons, const std::string& baseline);
std::string comparison_json(const std::vector<harness::CellComparison>& comparisons, const std::string& baseline);

}  // namespace perfbench::reports
