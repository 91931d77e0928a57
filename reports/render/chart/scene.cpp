#include "reports/render/chart/scene.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/render/chart/axis.h"
#include "reports/render/format/number.h"
#include "reports/render/format/shown.h"

namespace perfbench::reports {
namespace {

constexpr int kWidth = 720;
constexpr double kLetter = 6.7;          // the width of an average letter
constexpr double kTextLine = 15;         // the height of a line of text
constexpr double kLegendLine = 18;       // ... and of the legend
constexpr double kAxisHeight = 52;       // the ticks and the title below a chart
constexpr int kSmallWidth = 168;         // page.css has columns of at least this width, so that letters keep their size
constexpr double kSmallAxisHeight = 23;  // the ticks below a small chart
constexpr std::size_t kColours = 8;
constexpr std::size_t kMarkedPoints = 100;  // series with more points become a line without marks
constexpr std::size_t kNameLetters = 44;    // longer names of rows are wrapped
constexpr std::size_t kNameLines = 4;

// The number of a colour in chart.css. There 2, 3 and 5 are the colours that mean bad, good and doubtful elsewhere.
std::size_t colour_number(Colour colour, std::size_t place) {
  switch (colour) {
    case Colour::plain:
      return 1;
    case Colour::bad:
      return 2;
    case Colour::good:
      return 3;
    case Colour::limit:
      return 4;
    case Colour::doubtful:
      return 5;
    case Colour::by_place:
      break;
  }
  return place % kColours + 1;
}

// A tenth of a unit is too small to be visible.
std::string coordinate(double value) {
  auto text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string value_text(double value) {
  constexpr double kWhole = 1e6;
  const bool is_whole = std::abs(value) < kWhole && value == std::round(value);
  return is_whole ? fmt::format("{:.0f}", value) : format_number(value);
}

// Breaks after commas and spaces, or anywhere if there are none.
std::vector<std::string> name_lines(const std::string& name) {
  std::vector<std::string> out;
  std::string_view rest = name;
  while (rest.size() > kNameLetters && out.size() + 1 < kNameLines) {
    const auto piece = cut_to(rest, kNameLetters);
    const auto found = piece.find_last_of(" ,");
    const auto end = found == std::string_view::npos ? piece.size() : found + 1;
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  out.emplace_back(rest.size() <= kNameLetters ? std::string(rest)
                                               : std::string(cut_to(rest, kNameLetters - 1)) + "\u2026");
  return out;
}

double text_width(const std::string& text) {
  return kLetter * static_cast<double>(text.size());
}

// The value of each point at which its bar begins: of a stacked one, the sum of those below it.
std::vector<std::vector<double>> bar_bases(const std::vector<ChartSeries>& all) {
  std::vector<std::vector<double>> out;
  std::map<double, double> sums;
  for (const auto& series : all) {
    auto& bases = out.emplace_back();
    for (const auto& point : series.points) {
      const bool is_stacked = series.marks == Marks::stacked;
      bases.push_back(is_stacked ? sums[point.x] : 0);
      if (is_stacked) sums[point.x] += point.y;
    }
  }
  return out;
}

std::string value_on(const ChartAxis& axis, double value) {
  if (!axis.categories.empty()) return axis.categories.at(static_cast<std::size_t>(value));
  return axis.scale == Scale::date ? date_text(value) : value_text(value);
}

// The rectangle between the axes, in pixels.
struct Frame {
  double left = 64;
  double right = kWidth - 16.0;
  double top = 30;
  double bottom = 308;
};

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart), bases_(bar_bases(chart.series)) {
    std::vector<double> xs;
    std::vector<double> ys;
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      const auto& series = chart.series[s];
      for (std::size_t i = 0; i < series.points.size(); ++i) {
        const auto& point = series.points[i];
        const double half = is_bar(series) ? spacing(series) / 2 : 0;
        xs.push_back(point.x - half);
        xs.push_back(point.x + half);
        ys.push_back(bases_[s][i] + point.y);
        if (point.low) ys.push_back(*point.low);
        if (point.high) ys.push_back(*point.high);
      }
    }
    x_ = axis_range(chart.x, xs);
    if (chart.y.end) {
      for (auto& y : ys) y = std::min(y, *chart.y.end);
    }
    y_ = axis_range(chart.y, ys);
    if (chart.sideways) fit_rows();
    if (chart.small) frame_ = {.left = 28, .right = kSmallWidth - 5.0, .top = 10, .bottom = 80};
    scene_.title = shown(chart.title);
    scene_.width = chart.small ? kSmallWidth : kWidth;
    scene_.sideways = chart.sideways;
    scene_.left = frame_.left;
    scene_.top = frame_.top;
    scene_.right = frame_.right;
    scene_.bottom = frame_.bottom;
    scene_.x = axis_of_scene(chart.x, x_);
    scene_.y = axis_of_scene(chart.y, y_);
  }

  Scene scene() {
    shade();
    if (chart_.small) {
      small_axes();
    } else {
      axes();
    }
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const auto& series = chart_.series[i];
      if (is_bar(series)) {
        bars(series, i);
      } else if (series.marks == Marks::strips) {
        strips(series, i);
      } else if (series.marks == Marks::heat) {
        heat(series, i);
      } else {
        line(series, i);
      }
      if (chart_.sideways && series.marks != Marks::heat) values(series);
    }
    if (!chart_.sideways) names();
    const double end = frame_.bottom + (chart_.small ? kSmallAxisHeight : kAxisHeight);
    const bool has_legend = chart_.series.size() > 1 && !chart_.small;
    scene_.height = static_cast<int>(std::ceil(has_legend ? legend(end) : end));
    return std::move(scene_);
  }

 private:
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  void add(std::string tag, Attributes attributes, std::string text = {}) {
    scene_.shapes.push_back({std::move(tag), std::move(attributes), std::move(text)});
  }

  static SceneAxis axis_of_scene(const ChartAxis& axis, const AxisRange& range) {
    SceneAxis out{.title = shown(axis.title),
                  .is_logarithmic = axis.scale == Scale::logarithmic,
                  .low = range.low,
                  .high = range.high,
                  .categories = {}};
    for (const auto& name : axis.categories) out.categories.push_back(shown(name));
    return out;
  }

  // Room for the names of the rows on the left and for their values on the right.
  void fit_rows() {
    double names = 0;
    std::size_t lines = 1;
    for (const auto& name : chart_.x.categories) {
      names_.push_back(name_lines(shown(name)));
      lines = std::max(lines, names_.back().size());
      for (const auto& piece : names_.back()) names = std::max(names, text_width(piece));
    }
    double values = 0;
    for (const auto& series : chart_.series) {
      if (series.marks == Marks::heat) continue;
      for (const auto& point : series.points) values = std::max(values, text_width(shown(point.text)));
    }
    constexpr double kGap = 12;
    constexpr double kRow = 26;
    frame_.left = names + 2 * kGap;
    frame_.right = kWidth - kGap - (values > 0 ? values + kGap : kGap);
    frame_.top = 8;
    const double row = std::max(kRow, kTextLine * static_cast<double>(lines) + 8);
    frame_.bottom = frame_.top + row * static_cast<double>(std::max<std::size_t>(names_.size(), 1));
  }

  static bool is_bar(const ChartSeries& series) {
    return series.marks == Marks::bars || series.marks == Marks::stacked;
  }

  // The distance between two bars, which is always the same.
  static double spacing(const ChartSeries& series) {
    if (series.points.size() < 2) return 1;
    return (series.points.back().x - series.points.front().x) / static_cast<double>(series.points.size() - 1);
  }

  double along_x(double x) const {
    const double share = axis_share(chart_.x, x_, x);
    return chart_.sideways ? frame_.top + (frame_.bottom - frame_.top) * share
                           : frame_.left + (frame_.right - frame_.left) * share;
  }
  double along_y(double y) const {
    const double share = axis_share(chart_.y, y_, std::clamp(y, y_.low, y_.high));
    return chart_.sideways ? frame_.left + (frame_.right - frame_.left) * share
                           : frame_.bottom - (frame_.bottom - frame_.top) * share;
  }
  // In pixels from the left and from the top.
  std::pair<double, double> at(double x, double y) const {
    return chart_.sideways ? std::pair(along_y(y), along_x(x)) : std::pair(along_x(x), along_y(y));
  }

  void text(double x, double y, const char* anchor, const char* look, const std::string& content) {
    add("text", {{"x", coordinate(x)}, {"y", coordinate(y)}, {"text-anchor", anchor}, {"class", look}}, content);
  }
  void stroke(std::pair<double, double> from, std::pair<double, double> to, const std::string& look) {
    add("line", {{"x1", coordinate(from.first)},
                 {"y1", coordinate(from.second)},
                 {"x2", coordinate(to.first)},
                 {"y2", coordinate(to.second)},
                 {"class", look}});
  }
  void box(std::pair<double, double> a, std::pair<double, double> b, const std::string& look, std::string content,
           const Attributes& more = {}) {
    Attributes attributes{{"x", coordinate(std::min(a.first, b.first))},
                          {"y", coordinate(std::min(a.second, b.second))},
                          {"width", coordinate(std::abs(a.first - b.first))},
                          {"height", coordinate(std::abs(a.second - b.second))},
                          {"class", look}};
    attributes.insert(attributes.end(), more.begin(), more.end());
    add("rect", std::move(attributes), std::move(content));
  }

  void shade() {
    for (const auto& span : chart_.spans) {
      const double from = std::clamp(span.from, x_.low, x_.high);
      const double to = std::clamp(span.to, x_.low, x_.high);
      box(at(from, y_.low), at(std::max(from, to), y_.high), "shade", shown(span.name));
    }
  }

  void axes() {
    constexpr int kTicks = 8;
    const auto ends = [this](double y) { return std::pair(at(x_.low, y), at(x_.high, y)); };
    const auto columns = static_cast<int>(chart_.y.categories.size());
    const double width = (frame_.right - frame_.left) / std::max(columns, 1) - kLetter;
    const auto letters = columns > 0 ? static_cast<std::size_t>(std::max(width / kLetter, 3.0)) : kNameLetters;
    const int most = static_cast<int>((frame_.right - frame_.left) / (4 * kLetter));
    const int wanted = columns > 0 ? std::min(columns, most) : chart_.sideways ? kTicks : kTicks - 2;
    for (const double tick : axis_ticks(chart_.y, y_, wanted)) {
      const auto [from, to] = ends(tick);
      if (columns == 0) stroke(from, to, "grid");
      const auto content = tick_text(chart_.y, tick, letters);
      if (chart_.sideways) {
        text(from.first, frame_.bottom + 17, "middle", "tick", content);
      } else {
        text(frame_.left - 6, from.second + 4, "end", "tick", content);
      }
    }
    if (chart_.sideways) {
      rows();
    } else {
      const auto ticks = axis_ticks(chart_.x, x_, kTicks);
      const double room = (frame_.right - frame_.left) / static_cast<double>(ticks.size());
      for (const double tick : ticks) {
        const double x = along_x(tick);
        stroke({x, frame_.bottom}, {x, frame_.bottom + 4}, "axis");
        text(x, frame_.bottom + 17, "middle", "tick",
             tick_text(chart_.x, tick, static_cast<std::size_t>(room / kLetter)));
      }
      text(4, frame_.top - 14, "start", "title", shown(chart_.y.title));
    }
    stroke({frame_.left, frame_.bottom}, {frame_.right, frame_.bottom}, "axis");
    stroke({frame_.left, frame_.top}, {frame_.left, frame_.bottom}, "axis");
    text((frame_.left + frame_.right) / 2, frame_.bottom + 38, "middle", "title",
         shown(chart_.sideways ? chart_.y.title : chart_.x.title));
  }

  // A line for few values, that of zero stronger, and the first and the last tick of x.
  void small_axes() {
    constexpr int kTicks = 4;
    for (const double tick : axis_ticks(chart_.y, y_, kTicks)) {
      stroke(at(x_.low, tick), at(x_.high, tick), tick == 0 ? "axis" : "grid");
      text(frame_.left - 5, along_y(tick) + 4, "end", "tick", tick_text(chart_.y, tick, kNameLetters));
    }
    const auto ticks = axis_ticks(chart_.x, x_, 2);
    const double below = frame_.bottom + 19;
    text(1, below, "start", "tick", tick_text(chart_.x, ticks.front(), kNameLetters));
    if (ticks.size() < 2) return;
    text(frame_.right, below, "end", "tick", tick_text(chart_.x, ticks.back(), kNameLetters));
  }

  void rows() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto& lines = names_[i];
      double y = along_x(static_cast<double>(i)) + 4 - kTextLine * static_cast<double>(lines.size() - 1) / 2;
      for (const auto& line : lines) {
        text(frame_.left - 8, y, "end", "tick", line);
        y += kTextLine;
      }
    }
    // From negative to positive values, zero is a line of its own.
    if (chart_.y.categories.empty() && y_.low < 0 && y_.high > 0) stroke(at(x_.low, 0), at(x_.high, 0), "axis");
  }

  void values(const ChartSeries& series) {
    for (const auto& point : series.points) {
      if (point.text.empty()) continue;
      text(kWidth - 8.0, along_x(point.x) + 4, "end", "tick", shown(point.text));
    }
  }

  // Puts each text beside its point, where it covers no other text and no point. A text without such a place is left
  // out; the point's description has it.
  void names() {
    std::vector<Frame> taken;
    for (const auto& series : chart_.series) {
      for (const auto& point : series.points) {
        constexpr double kDot = 5;
        const auto [x, y] = at(point.x, point.y);
        taken.push_back({x - kDot, x + kDot, y - kDot, y + kDot});
      }
    }
    for (const auto& series : chart_.series) {
      for (const auto& point : series.points) {
        if (point.text.empty()) continue;
        const auto content = shown(point.text);
        const double width = text_width(content);
        const auto [x, y] = at(point.x, point.y);
        for (const double down : {4.0, 4 - kTextLine, 4 + kTextLine, 4 - 2 * kTextLine, 4 + 2 * kTextLine}) {
          const bool to_the_right = x + 8 + width <= kWidth;
          const double left = to_the_right ? x + 8 : x - 8 - width;
          const Frame room{left, left + width, y + down - kTextLine + 3, y + down + 3};
          const bool is_inside = room.left >= frame_.left && room.top >= frame_.top && room.bottom <= frame_.bottom;
          const bool is_free = std::none_of(taken.begin(), taken.end(), [&room](const Frame& other) {
            return room.left < other.right && other.left < room.right && room.top < other.bottom &&
                   other.top < room.bottom;
          });
          if (!is_inside || !is_free) continue;
          taken.push_back(room);
          text(to_the_right ? x + 8 : x - 8, y + down, to_the_right ? "start" : "end", "tick name", content);
          break;
        }
      }
    }
  }

  std::string look(const char* what, std::size_t series) const {
    return fmt::format("{} series-{}", what, colour_number(chart_.series[series].colour, series));
  }

  std::string point_text(const ChartSeries& series, const ChartPoint& point) const {
    auto out = fmt::format("{}: {}, {}: {}", chart_.x.title, value_on(chart_.x, point.x), chart_.y.title,
                           value_on(chart_.y, point.y));
    if (point.low) out += fmt::format(" ({} to {})", value_text(*point.low), value_text(*point.high));
    if (!series.name.empty()) out = series.name + ", " + out;
    if (!point.label.empty()) out += ", " + point.label;
    return shown(out);
  }

  void bars(const ChartSeries& series, std::size_t number) {
    constexpr double kFilled = 0.8;
    const double half = (chart_.x.categories.empty() ? spacing(series) : 1) * kFilled / 2;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const auto& point = series.points[i];
      const double base = bases_[number][i];
      const double from = point.low.value_or(std::max(base, y_.low));
      const double to = point.high.value_or(base + point.y);
      box(at(point.x - half, from), at(point.x + half, to), look("bar", number), point_text(series, point));
    }
  }

  void strips(const ChartSeries& series, std::size_t number) {
    for (const auto& point : series.points) {
      box(at(point.x - 0.5, point.low.value_or(y_.low)), at(point.x + 0.5, point.high.value_or(y_.high)),
          look("strip", number), point_text(series, point));
    }
  }

  // Stays pale enough for text in front of it.
  void heat(const ChartSeries& series, std::size_t number) {
    constexpr double kPalest = 0.06;
    constexpr double kDeepest = 0.5;
    constexpr double kGap = 8;
    const double room = std::abs(along_y(1) - along_y(0)) - kGap;
    for (const auto& point : series.points) {
      const double opacity = kPalest + (kDeepest - kPalest) * std::clamp(point.depth, 0.0, 1.0);
      box(at(point.x - 0.5, point.y - 0.5), at(point.x + 0.5, point.y + 0.5), look("heat", number),
          point_text(series, point), {{"fill-opacity", fmt::format("{:.3f}", opacity)}});
      const auto content = shown(point.text);
      if (content.empty() || text_width(content) > room) continue;
      const auto [x, y] = at(point.x, point.y);
      text(x, y + 4, "middle", "inside", content);
    }
  }

  // For each column of the drawing, the first, the lowest, the highest and the last point.
  std::vector<ChartPoint> told_apart(const std::vector<ChartPoint>& points) const {
    constexpr std::size_t kMost = 4 * kWidth;
    if (points.size() <= kMost) return points;
    std::vector<ChartPoint> out;
    for (std::size_t begin = 0; begin < points.size();) {
      const auto column = std::floor(along_x(points[begin].x));
      std::size_t end = begin;
      while (end < points.size() && std::floor(along_x(points[end].x)) == column) ++end;
      const auto of = [&](std::size_t i) { return points.begin() + static_cast<std::ptrdiff_t>(i); };
      const auto [low, high] =
          std::minmax_element(of(begin), of(end), [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; });
      std::vector<std::size_t> kept{begin, static_cast<std::size_t>(low - points.begin()),
                                    static_cast<std::size_t>(high - points.begin()), end - 1};
      std::sort(kept.begin(), kept.end());
      kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
      for (const auto i : kept) out.push_back(points[i]);
      begin = end;
    }
    return out;
  }

  void line(const ChartSeries& series, std::size_t number) {
    const auto points = told_apart(series.points);
    if (series.marks != Marks::points && points.size() > 1) {
      std::string path;
      for (const auto& point : points) {
        const auto [x, y] = at(point.x, point.y);
        path += fmt::format("{}{} {}", path.empty() ? "M" : " L", coordinate(x), coordinate(y));
      }
      add("path", {{"d", path}, {"class", look(series.marks == Marks::ideal ? "ideal" : "line", number)}},
          shown(series.name));
    }
    if (points.size() < series.points.size()) {
      text(frame_.right, frame_.top - 14, "end", "tick",
           fmt::format("{} of {} points drawn", points.size(), series.points.size()));
    }
    if (series.marks == Marks::ideal) return;
    const bool marked = series.marks == Marks::points || (points.size() <= kMarkedPoints && !chart_.small);
    for (const auto& point : points) {
      const bool is_last = &point == &points.back();
      if (point.y > y_.high || point.y < y_.low) {
        beyond(series, point, number);
      } else if (marked || (chart_.small && is_last)) {
        dot(series, point, number);
      } else {
        read(series, point);
      }
    }
  }

  void dot(const ChartSeries& series, const ChartPoint& point, std::size_t number) {
    if (point.low && point.high) stroke(at(point.x, *point.low), at(point.x, *point.high), look("interval", number));
    const auto [x, y] = at(point.x, point.y);
    const auto* radius = chart_.small ? "2.5" : "3.5";
    add("circle", {{"cx", coordinate(x)}, {"cy", coordinate(y)}, {"r", radius}, {"class", look("dot", number)}},
        point_text(series, point));
  }

  // A small chart shows no values at the pointer.
  void read(const ChartSeries& series, const ChartPoint& point) {
    if (chart_.small) return;
    const auto [x, y] = at(point.x, point.y);
    scene_.readings.push_back({x, y, point_text(series, point)});
  }

  // Draws the arrow for a point beyond the axis, at the edge.
  void beyond(const ChartSeries& series, const ChartPoint& point, std::size_t number) {
    const double half = chart_.small ? 3.5 : 5;
    const double x = along_x(point.x);
    const bool is_above = point.y > y_.high;
    const double tip = is_above ? frame_.top : frame_.bottom;
    const double base = is_above ? tip + 1.6 * half : tip - 1.6 * half;
    add("path",
        {{"d", fmt::format("M{} {} L{} {} L{} {} Z", coordinate(x - half), coordinate(base), coordinate(x),
                           coordinate(tip), coordinate(x + half), coordinate(base))},
         {"class", look("dot", number)}},
        point_text(series, point));
    if (chart_.small) return;
    text(x + 9, is_above ? tip + 9 : tip, "start", "tick name", format_number(point.y));
    read(series, point);
  }

  // Names beside each other, in as many lines as they need. Returns where it ends.
  double legend(double top) {
    constexpr double kMark = 24;
    double x = chart_.sideways ? 12 : frame_.left;
    const double begin = x;
    double y = top + 4;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const auto& series = chart_.series[i];
      const auto name = shown(series.name);
      const double width = kMark + 8 + text_width(name) + 20;
      if (x > begin && x + width > kWidth) {
        x = begin;
        y += kLegendLine;
      }
      if (is_bar(series) || series.marks == Marks::strips) {
        const auto* what = is_bar(series) ? "bar" : "strip";
        box({x, y - 8}, {x + kMark, y}, look(what, i), "");
      } else if (series.marks == Marks::points) {
        add("circle",
            {{"cx", coordinate(x + kMark / 2)}, {"cy", coordinate(y - 4)}, {"r", "3.5"}, {"class", look("dot", i)}});
      } else {
        stroke({x, y - 4}, {x + kMark, y - 4}, look(series.marks == Marks::ideal ? "ideal" : "line", i));
      }
      text(x + kMark + 8, y, "start", "tick", name);
      x += width;
    }
    return y + kLegendLine / 2;
  }

  const Chart& chart_;
  std::vector<std::vector<double>> bases_;  // of the points of each series
  AxisRange x_;
  AxisRange y_;
  Frame frame_;
  std::vector<std::vector<std::string>> names_;  // of the rows of a sideways chart, in lines
  Scene scene_{};
};

}  // namespace

Scene draw(const Chart& chart) {
  return Drawing(chart).scene();
}

}  // namespace perfbench::reports
