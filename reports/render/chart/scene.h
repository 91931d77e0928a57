// The range and the ticks of an axis.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/render/chart/chart.h"

namespace perfbench::reports {

struct AxisRange {
  double low = 0;
  double high = 1;
};

// A range that contains all values and extends to whole steps of the ticks.
AxisRange axis_range(const ChartAxis& axis, const std::vector<double>& values);

// Ticks within the range: on a linear axis at multiples of 1, 2 or 5 times a power of ten, about `wanted` of them; on a
// logarithmic axis at powers of ten, or of two if those are too few; for categories at each, or at every n-th.
std::vector<double> axis_ticks(const ChartAxis& axis, const AxisRange& range, int wanted);

// A chart as shapes: drawn once, both for files (svg.h) and for pages, which make elements of the same shapes. Shape is
// an SVG element. Text from outside is only in `text`, never in an attribute.
struct Shape {
  std::string tag;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text = {};  // the content of a text element, or the title of another one; empty: none
};

struct Scene {
  std::string title;
  int width = 0;
  int height = 0;
  std::vector<Shape> shapes;  // later shapes are drawn over earlier ones
};

// A line with more points than can be distinguished keeps the first, the lowest, the highest and the last point of each
// column of the drawing; the drawing then says how many points there are. Equal charts give equal shapes, digit by
// digit. A chart without points has only the titles of its axes.
Scene draw(const Chart& chart);

}  // namespace perfbench::reports
