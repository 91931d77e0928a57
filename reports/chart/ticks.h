// Where an axis has its marks.
#pragma once

#include <vector>

#include "reports/chart/chart.h"

namespace perfbench::reports {

struct AxisRange {
  double low = 0;
  double high = 1;
};

// What holds all values, whole steps of its marks around them.
AxisRange axis_range(const ChartAxis& axis, const std::vector<double>& values);

// Within the range: a linear axis at multiples of 1, 2 or 5 times a power of ten, about `wanted` of them; a logarithmic
// one at powers of ten, or of two where those are too few; categories at each, or at every n-th.
std::vector<double> axis_ticks(const ChartAxis& axis, const AxisRange& range, int wanted);

}  // namespace perfbench::reports
