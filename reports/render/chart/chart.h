// A chart as data: what is drawn, in the units of its axes. Every text is data, as it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace perfbench::reports {

enum class Scale { linear, logarithmic };  // of a logarithmic axis every value is above 0

struct ChartAxis {
  std::string title;  // with its unit
  Scale scale = Scale::linear;
  std::vector<std::string> categories = {};  // where they are not empty, category i is at i
  bool from_zero = false;                    // of a linear one
  std::optional<double> end = {};            // of a linear y axis: what is far above is an arrow there, with its number
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<double> low = {};   // an interval around y
  std::optional<double> high = {};  // both or neither
  std::string label = {};           // what this point is, beyond its numbers
};

// connected: a line with a mark for each point, of many without. ideal: a dashed line without marks, as a limit or what
// perfect scaling would be. bars: from 0, or where a point has an interval over that.
enum class Marks { connected, points, ideal, bars };

// by_place: by its number in the chart, where all series are so. limit: what others are held against.
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
  std::string key;  // what programs call it, unique in a document
  std::string title;
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series;
  std::vector<ChartSpan> spans = {};
};

}  // namespace perfbench::reports
