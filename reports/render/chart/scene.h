// Where an axis has its marks.
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

// What holds all values, whole steps of its marks around them.
AxisRange axis_range(const ChartAxis& axis, const std::vector<double>& values);

// Within the range: a linear axis at multiples of 1, 2 or 5 times a power of ten, about `wanted` of them; a logarithmic
// one at powers of ten, or of two where those are too few; categories at each, or at every n-th.
std::vector<double> axis_ticks(const ChartAxis& axis, const AxisRange& range, int wanted);

// A chart as shapes: drawn once, for files (svg.h) and for pages, which make elements of the same shapes.
// An SVG element. What others wrote is in `text` alone, never in an attribute.
struct Shape {
  std::string tag;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text = {};  // of a text element its content, of another one its title; empty: none
};

struct Scene {
  std::string title;
  int width = 0;
  int height = 0;
  std::vector<Shape> shapes;  // later ones over earlier ones
};

// Lines of more points than can be told apart keep, of each column of the drawing, the first, the lowest, the highest
// and the last; the drawing then says how many there are. Equal charts give equal shapes, digit by digit. A chart
// without a point has its axes' titles alone.
Scene draw(const Chart& chart);

}  // namespace perfbench::reports
