// A chart in Mermaid's words, which GitHub draws where it shows Markdown: it shows no picture that is not an address.
#pragma once

#include <string>

#include "reports/render/chart/chart.h"

namespace perfbench::reports {

// An xychart (https://mermaid.js.org/syntax/xyChart): lines, or bars, over places that are evenly apart. Empty for what
// that has no way to say: intervals, logarithmic axes, places that are not, fewer than two of them. Of names and titles
// what could end their quotes or begin a comment becomes a space.
std::string mermaid(const Chart& chart);

}  // namespace perfbench::reports
