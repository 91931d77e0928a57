#include "reports/render/chart/scene.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "reports/render/format/number.h"
#include "reports/render/format/shown.h"

namespace perfbench::reports {
namespace {

double step_of(double span, int wanted) {
  const double rough = span / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10.0 * power;
}

std::vector<double> powers(double base, const AxisRange& range) {
  std::vector<double> out;
  // Logarithms of powers are integers up to rounding.
  constexpr double kSlack = 1e-9;
  const auto first = static_cast<int>(std::ceil(std::log(range.low) / std::log(base) - kSlack));
  const auto last = static_cast<int>(std::floor(std::log(range.high) / std::log(base) + kSlack));
  for (int i = first; i <= last; ++i) out.push_back(std::pow(base, i));
  return out;
}

// Covers the values that a logarithmic axis can show.
AxisRange logarithmic_range(const std::vector<double>& values) {
  constexpr double kMargin = 1.25;
  std::optional<AxisRange> out;
  for (const double value : values) {
    if (!(value > 0)) continue;
    if (!out) out = {value, value};
    out = {std::min(out->low, value), std::max(out->high, value)};
  }
  return out ? AxisRange{out->low / kMargin, out->high * kMargin} : AxisRange{1, 10};
}

}  // namespace

AxisRange axis_range(const ChartAxis& axis, const std::vector<double>& values) {
  if (!axis.categories.empty()) return {-0.5, static_cast<double>(axis.categories.size()) - 0.5};
  if (axis.scale == Scale::logarithmic) return logarithmic_range(values);
  if (values.empty()) return {};
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  AxisRange out{*least, *most};
  if (axis.from_zero) out = {std::min(out.low, 0.0), std::max(out.high, 0.0)};
  if (out.low == out.high) {
    const double around = out.low == 0 ? 1 : std::abs(out.low) * 0.1;
    out = {out.low - around, out.high + around};
  }
  constexpr int kSteps = 6;
  const double step = step_of(out.high - out.low, kSteps);
  return {std::floor(out.low / step) * step, std::ceil(out.high / step) * step};
}

std::vector<double> axis_ticks(const ChartAxis& axis, const AxisRange& range, int wanted) {
  std::vector<double> out;
  if (!axis.categories.empty()) {
    const auto count = static_cast<int>(axis.categories.size());
    const int each = std::max(1, (count + wanted - 1) / wanted);
    for (int i = 0; i < count; i += each) out.push_back(i);
    return out;
  }
  if (axis.scale == Scale::logarithmic) {
    out = powers(10, range);
    constexpr std::size_t kFew = 3;
    if (out.size() < kFew) out = powers(2, range);
    while (static_cast<int>(out.size()) > wanted) {
      std::vector<double> fewer;
      for (std::size_t i = 0; i < out.size(); i += 2) fewer.push_back(out[i]);
      out = fewer;
    }
    return out;
  }
  const double step = step_of(range.high - range.low, wanted);
  // Uses integer multiples, because sums of steps would not be equal on every machine.
  const auto first = static_cast<long>(std::ceil(range.low / step - 1e-9));
  const auto last = static_cast<long>(std::floor(range.high / step + 1e-9));
  for (long i = first; i <= last; ++i) out.push_back(static_cast<double>(i) * step);
  return out;
}

namespace {

constexpr int kWidth = 720;
constexpr int kHeight = 360;
constexpr double kLeft = 72;
constexpr double kRight = kWidth - 16.0;
constexpr double kTop = 16;
constexpr double kBottom = kHeight - 56.0;
constexpr double kLegendLine = 18;
constexpr std::size_t kColours = 6;
constexpr std::size_t kMarkedPoints = 100;  // series with more points become a line without marks

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

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const auto& series : chart.series) {
      for (const auto& point : series.points) {
        const double half = series.marks == Marks::bars ? spacing(series) / 2 : 0;
        xs.push_back(point.x - half);
        xs.push_back(point.x + half);
        ys.push_back(point.y);
        if (point.low) ys.push_back(*point.low);
        if (point.high) ys.push_back(*point.high);
      }
    }
    x_ = axis_range(chart.x, xs);
    if (chart.y.end) {
      for (auto& y : ys) y = std::min(y, *chart.y.end);
    }
    y_ = axis_range(chart.y, ys);
    const std::size_t named = chart.series.size() > 1 ? chart.series.size() : 0;
    scene_ = {.title = shown(chart.title),
              .width = kWidth,
              .height = kHeight + static_cast<int>(kLegendLine * static_cast<double>(named)),
              .shapes = {}};
  }

  Scene scene() {
    shade();
    axes();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const auto& series = chart_.series[i];
      if (series.marks == Marks::bars) {
        bars(series, i);
      } else {
        line(series, i);
      }
    }
    if (chart_.series.size() > 1) legend();
    return std::move(scene_);
  }

 private:
  using Attributes = std::vector<std::pair<std::string, std::string>>;
  void add(std::string tag, Attributes attributes, std::string text = {}) {
    scene_.shapes.push_back({std::move(tag), std::move(attributes), std::move(text)});
  }

  // The distance between two bars, which is always the same.
  static double spacing(const ChartSeries& series) {
    if (series.points.size() < 2) return 1;
    return (series.points.back().x - series.points.front().x) / static_cast<double>(series.points.size() - 1);
  }

  static double share(const ChartAxis& axis, const AxisRange& range, double value) {
    if (axis.scale == Scale::logarithmic) return std::log(value / range.low) / std::log(range.high / range.low);
    return (value - range.low) / (range.high - range.low);
  }
  double across(double x) const { return kLeft + (kRight - kLeft) * share(chart_.x, x_, x); }
  double down(double y) const { return kBottom - (kBottom - kTop) * share(chart_.y, y_, std::min(y, y_.high)); }

  // As much of a name as there is room for; the description of a point has all of it.
  static std::string tick_text(const ChartAxis& axis, double value, std::size_t marks) {
    if (!axis.categories.empty()) {
      constexpr double kLetter = 6;
      const auto room = static_cast<std::size_t>((kRight - kLeft) / static_cast<double>(marks) / kLetter);
      const auto name = shown(axis.categories[static_cast<std::size_t>(value)]);
      return name.size() <= room ? name : std::string(cut_to(name, std::max<std::size_t>(room, 2) - 1)) + "\u2026";
    }
    constexpr double kLong = 1e5;
    return std::abs(value) >= kLong ? human_count(value) : fmt::format("{:.6g}", value);
  }

  void text(double x, double y, const char* anchor, const char* look, const std::string& content) {
    add("text", {{"x", coordinate(x)}, {"y", coordinate(y)}, {"text-anchor", anchor}, {"class", look}}, content);
  }
  void stroke(double x1, double y1, double x2, double y2, const std::string& look) {
    add("line", {{"x1", coordinate(x1)},
                 {"y1", coordinate(y1)},
                 {"x2", coordinate(x2)},
                 {"y2", coordinate(y2)},
                 {"class", look}});
  }

  void shade() {
    for (const auto& span : chart_.spans) {
      const double from = std::clamp(across(std::max(span.from, x_.low)), kLeft, kRight);
      const double to = std::clamp(across(std::min(span.to, x_.high)), kLeft, kRight);
      add("rect",
          {{"x", coordinate(from)},
           {"y", coordinate(kTop)},
           {"width", coordinate(std::max(to - from, 0.0))},
           {"height", coordinate(kBottom - kTop)},
           {"class", "shade"}},
          shown(span.name));
    }
  }

  void axes() {
    constexpr int kAcross = 10;
    constexpr int kUp = 6;
    for (const double tick : axis_ticks(chart_.y, y_, kUp)) {
      stroke(kLeft, down(tick), kRight, down(tick), "grid");
      text(kLeft - 6, down(tick) + 4, "end", "tick", tick_text(chart_.y, tick, 1));
    }
    const auto ticks = axis_ticks(chart_.x, x_, kAcross);
    for (const double tick : ticks) {
      stroke(across(tick), kBottom, across(tick), kBottom + 4, "axis");
      text(across(tick), kBottom + 17, "middle", "tick", tick_text(chart_.x, tick, ticks.size()));
    }
    stroke(kLeft, kBottom, kRight, kBottom, "axis");
    stroke(kLeft, kTop, kLeft, kBottom, "axis");
    text((kLeft + kRight) / 2, kBottom + 38, "middle", "title", shown(chart_.x.title));
    const double middle = (kTop + kBottom) / 2;
    add("text",
        {{"x", coordinate(-middle)},
         {"y", "14"},
         {"transform", "rotate(-90)"},
         {"text-anchor", "middle"},
         {"class", "title"}},
        shown(chart_.y.title));
  }

  std::string look(const char* what, std::size_t series) const {
    return fmt::format("{} series-{}", what, colour_number(chart_.series[series].colour, series));
  }

  std::string point_text(const ChartSeries& series, const ChartPoint& point) const {
    const auto x = chart_.x.categories.empty() ? format_number(point.x)
                                               : chart_.x.categories.at(static_cast<std::size_t>(point.x));
    auto out = fmt::format("{}: {}, {}: {}", chart_.x.title, x, chart_.y.title, format_number(point.y));
    if (point.low) out += fmt::format(" ({} to {})", format_number(*point.low), format_number(*point.high));
    if (!series.name.empty()) out = series.name + ", " + out;
    if (!point.label.empty()) out += ", " + point.label;
    return shown(out);
  }

  void bars(const ChartSeries& series, std::size_t number) {
    constexpr double kFilled = 0.8;
    const double step = chart_.x.categories.empty() ? spacing(series) : 1;
    const double width = (across(x_.low + step) - across(x_.low)) * kFilled;
    for (const auto& point : series.points) {
      const double from = down(point.low.value_or(std::max(0.0, y_.low)));
      const double to = down(point.high.value_or(point.y));
      add("rect",
          {{"x", coordinate(across(point.x) - width / 2)},
           {"y", coordinate(std::min(from, to))},
           {"width", coordinate(width)},
           {"height", coordinate(std::abs(to - from))},
           {"class", look("bar", number)}},
          point_text(series, point));
    }
  }

  // For each column of the drawing, the first, the lowest, the highest and the last point.
  std::vector<ChartPoint> told_apart(const std::vector<ChartPoint>& points) const {
    constexpr std::size_t kMost = 4 * kWidth;
    if (points.size() <= kMost) return points;
    std::vector<ChartPoint> out;
    for (std::size_t begin = 0; begin < points.size();) {
      const auto column = std::floor(across(points[begin].x));
      std::size_t end = begin;
      while (end < points.size() && std::floor(across(points[end].x)) == column) ++end;
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
        path +=
            fmt::format("{}{} {}", path.empty() ? "M" : " L", coordinate(across(point.x)), coordinate(down(point.y)));
      }
      add("path", {{"d", path}, {"class", look(series.marks == Marks::ideal ? "ideal" : "line", number)}},
          shown(series.name));
    }
    if (points.size() < series.points.size()) {
      text(kRight, kTop + 4, "end", "tick", fmt::format("{} of {} points drawn", points.size(), series.points.size()));
    }
    const bool marked = series.marks == Marks::points || points.size() <= kMarkedPoints;
    for (const auto& point : points) {
      if (series.marks == Marks::ideal) return;
      if (point.y > y_.high) above(series, point, number);
      if (point.y > y_.high || !marked) continue;
      if (point.low && point.high) {
        stroke(across(point.x), down(*point.low), across(point.x), down(*point.high), look("interval", number));
      }
      add("circle",
          {{"cx", coordinate(across(point.x))},
           {"cy", coordinate(down(point.y))},
           {"r", "3.5"},
           {"class", look("dot", number)}},
          point_text(series, point));
    }
  }

  // Draws the arrow for a point beyond the axis.
  void above(const ChartSeries& series, const ChartPoint& point, std::size_t number) {
    const double x = across(point.x);
    add("path",
        {{"d", fmt::format("M{} {} L{} {} L{} {} Z", coordinate(x - 5), coordinate(kTop + 8), coordinate(x),
                           coordinate(kTop), coordinate(x + 5), coordinate(kTop + 8))},
         {"class", look("dot", number)}},
        point_text(series, point));
    text(x + 9, kTop + 9, "start", "tick", format_number(point.y));
  }

  void legend() {
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const double y = kHeight + kLegendLine * static_cast<double>(i);
      const auto& series = chart_.series[i];
      if (series.marks == Marks::bars) {
        add("rect", {{"x", coordinate(kLeft)},
                     {"y", coordinate(y - 8)},
                     {"width", "24"},
                     {"height", "8"},
                     {"class", look("bar", i)}});
      } else if (series.marks == Marks::points) {
        add("circle",
            {{"cx", coordinate(kLeft + 12)}, {"cy", coordinate(y - 4)}, {"r", "3.5"}, {"class", look("dot", i)}});
      } else {
        stroke(kLeft, y - 4, kLeft + 24, y - 4, look(series.marks == Marks::ideal ? "ideal" : "line", i));
      }
      text(kLeft + 32, y, "start", "tick", shown(series.name));
    }
  }

  const Chart& chart_;
  AxisRange x_;
  AxisRange y_;
  Scene scene_;
};

}  // namespace

Scene draw(const Chart& chart) {
  return Drawing(chart).scene();
}

}  // namespace perfbench::reports
