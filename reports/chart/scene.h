// A chart as shapes: drawn once, for files (svg.h) and for pages, which make elements of the same shapes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/chart/chart.h"

namespace perfbench::reports {

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
