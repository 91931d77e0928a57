// A chart as shapes: drawn once, both for files (svg.h) and for pages, which make elements of the same shapes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/render/chart/chart.h"

namespace perfbench::reports {

// An SVG element. Text from outside is only in `text`, never in an attribute.
struct Shape {
  std::string tag;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string text = {};  // the content of a text element, or the title of another one; empty: none
};

// An axis as it was drawn, for a page that zooms.
struct SceneAxis {
  std::string title;
  bool is_logarithmic = false;
  double low = 0;
  double high = 1;
  std::vector<std::string> categories;
};

// A point that no shape of its own describes: of a line without marks, or beyond the axis.
struct Reading {
  double x = 0;  // in pixels
  double y = 0;
  std::string text;
};

struct Scene {
  std::string title;
  int width = 0;
  int height = 0;
  std::vector<Shape> shapes = {};  // later shapes are drawn over earlier ones
  // The rectangle between the axes, in pixels, and the axes along it: to the right and upwards.
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
  SceneAxis x = {};
  SceneAxis y = {};
  bool sideways = false;
  std::vector<Reading> readings = {};
};

// A line with more points than can be distinguished keeps the first, the lowest, the highest and the last point of each
// column of the drawing; the drawing then says how many points there are. Equal charts give equal shapes, digit by
// digit. A chart without points has only the titles of its axes.
Scene draw(const Chart& chart);

}  // namespace perfbench::reports
