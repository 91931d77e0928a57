// A series as a line of eight heights.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace perfbench::reports {

// The last `most` values, from the lowest to the highest of them; a range below `smallest_range` (a fraction of their
// middle) is not blown up to the full height. Empty for no value.
std::string sparkline(const std::vector<double>& values, std::size_t most = 30, double smallest_range = 0.02);

}  // namespace perfbench::reports
