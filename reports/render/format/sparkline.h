// A series as a line of characters with eight heights.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace perfbench::reports {

// The last `most` values, scaled from the lowest to the highest of them. A range smaller than `smallest_range` (a
// fraction of the centre of the range) is not enlarged to the full height. Empty if there are no values.
std::string sparkline(const std::vector<double>& values, std::size_t most = 30, double smallest_range = 0.02);

}  // namespace perfbench::reports
