// A chart as data: its content in the units of its axes. Every text is data and is not interpreted.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace perfbench::reports {

// On a logarithmic axis every value is above 0. A date is its number of days since 1970-01-01, along a linear axis of a
// small chart.
enum class Scale { linear, logarithmic, date };

struct AxisRange {
  double low = 0;
  double high = 1;
};

struct ChartAxis {
  std::string title;  // including its unit
  Scale scale = Scale::linear;
  std::vector<std::string> categories = {};  // if not empty, category i is at i
  bool from_zero = false;                    // for a linear axis
  std::optional<double> end = {};  // for a linear y axis: a value far above it becomes an arrow with its number
  std::vector<double> ticks = {};  // empty: round numbers
  // The axis has exactly this range, so that several charts can share it. A y value outside becomes an arrow.
  std::optional<AxisRange> range = {};
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<double> low = {};   // an interval around y
  std::optional<double> high = {};  // low and high are given both or not at all
  std::string label = {};           // describes the point, beyond its numbers
  std::string text = {};            // stands beside the point: its name, or its value with digits and unit
  double depth = 0;                 // of the colour of a heat mark, from 0 to 1
};

// connected: a line with a mark for each point, or without marks if there are many. ideal: a dashed line without marks,
// for a limit or perfect scaling. bars: from 0 or, if a point has an interval, over the interval. stacked: bars on top
// of the earlier stacked series at the same x. strips: a shaded range, from low to high, over the width of a category.
// heat: a coloured rectangle for a category of each axis, with the text of the point if it fits.
enum class Marks { connected, points, ideal, bars, stacked, strips, heat };

// by_place: by its index in the chart, if all series have this colour. limit: for a value with which others are
// compared.
enum class Colour { by_place, plain, good, bad, doubtful, limit };

struct ChartSeries {
  std::string name;
  Marks marks = Marks::connected;
  std::vector<ChartPoint> points;  // finite numbers; in the order of the line
  Colour colour = Colour::by_place;
};

// A part of the x axis that is shaded.
struct ChartSpan {
  std::string name;
  double from = 0;
  double to = 0;
};

struct Chart {
  std::string key;  // its name for programs, unique in a document
  std::string title;
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series;
  std::vector<ChartSpan> spans = {};
  // The categories of x stand below each other, each on a row of its own, and y goes to the right. For categories with
  // long names.
  bool sideways = false;
  // For many charts beside each other: a quarter as wide, without titles, numbers of arrows and legend. Lines mark only
  // their last point.
  bool small = false;
};

}  // namespace perfbench::reports
