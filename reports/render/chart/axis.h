// The range, the ticks and the unit of an axis.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/render/chart/chart.h"

namespace perfbench::reports {

// The range of the axis if it has one, otherwise a range that contains all values and extends to whole steps of the
// ticks.
AxisRange axis_range(const ChartAxis& axis, const std::vector<double>& values);

// Shows the y values, which are in this unit of the metric catalog, in a unit that suits them: the largest, if the axis
// begins at zero, otherwise the smallest. The axis gets "TITLE (UNIT)" as its title.
void show_in_unit(Chart& chart, const std::string& title, std::string_view unit);

// Ticks within the range: those of the axis, if it has any. Otherwise multiples of 1, 2 or 5 times a power of ten,
// about `wanted` of them, also on a logarithmic axis; for categories each, or every n-th.
std::vector<double> axis_ticks(const ChartAxis& axis, const AxisRange& range, int wanted);

// Where the value lies in the range: 0 at the low end, 1 at the high end.
double axis_share(const ChartAxis& axis, const AxisRange& range, double value);

// "2026-01-31", from the days since 1970-01-01.
std::string date_text(double days);

// "250", "1.25", "124 k", "2026-01-31"; the name of a category is shortened to `letters`.
std::string tick_text(const ChartAxis& axis, double value, std::size_t letters);

}  // namespace perfbench::reports
