// A chart in Mermaid's language, which GitHub draws in Markdown; pictures there need an address.
#pragma once

#include <string>

#include "reports/render/chart/chart.h"

namespace perfbench::reports {

// An xychart (https://mermaid.js.org/syntax/xyChart): lines or bars over evenly spaced places. Empty for a chart that
// Mermaid cannot express: with intervals, logarithmic axes, unevenly spaced places, or fewer than two of them. In names
// and titles, characters that could end their quotes or begin a comment become spaces.
std::string mermaid(const Chart& chart);

}  // namespace perfbench::reports
