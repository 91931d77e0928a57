#include "reports/render/chart/mermaid.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "reports/render/format/shown.h"

namespace perfbench::reports {
namespace {

using Values = std::map<double, double>;  // y by x

std::string quoted(const std::string& text) {
  auto out = shown(text);
  std::ranges::replace_if(
      out, [](char c) { return std::string_view("\"`%{};#<>&\\\n").find(c) != std::string::npos; }, ' ');
  return '"' + (out.empty() ? " " : out) + '"';  // Mermaid's grammar does not allow an empty text
}

// Six digits, because Mermaid's grammar does not allow exponents.
std::string number(double value) {
  constexpr int kDigits = 6;
  constexpr int kMostDecimals = 30;
  const int before = value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  auto out = fmt::format("{:.{}f}", value, std::clamp(kDigits - before, 1, kMostDecimals));
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

bool has_interval(const ChartSeries& series) {
  return std::ranges::any_of(series.points, [](const ChartPoint& point) { return point.low.has_value(); });
}

bool evenly_apart(const Values& values) {
  constexpr double kRounding = 1e-9;
  const double first = values.begin()->first;
  const double step = (values.rbegin()->first - first) / static_cast<double>(values.size() - 1);
  double expected = first;
  for (const auto& [x, y] : values) {
    if (std::abs(x - expected) > kRounding * std::max(1.0, std::abs(x))) return false;
    expected += step;
  }
  return true;
}

std::string data(const char* what, const Values& values) {
  std::string out;
  for (const auto& [x, y] : values) out += (out.empty() ? "" : ", ") + number(y);
  return fmt::format("  {} [{}]\n", what, out);
}

std::string x_axis(const ChartAxis& axis, const Values& values) {
  if (axis.categories.empty()) {
    return fmt::format("  x-axis {} {} --> {}\n", quoted(axis.title), number(values.begin()->first),
                       number(values.rbegin()->first));
  }
  std::string names;
  for (const auto& name : axis.categories) names += (names.empty() ? "" : ", ") + quoted(name);
  return fmt::format("  x-axis {} [{}]\n", quoted(axis.title), names);
}

std::string y_axis(const ChartAxis& axis, const std::vector<const Values*>& drawn) {
  double low = axis.from_zero ? 0.0 : drawn.front()->begin()->second;
  double high = low;
  for (const auto* values : drawn) {
    for (const auto& [x, y] : *values) {
      low = std::min(low, y);
      high = std::max(high, y);
    }
  }
  if (number(low) == number(high)) return fmt::format("  y-axis {}\n", quoted(axis.title));
  return fmt::format("  y-axis {} {} --> {}\n", quoted(axis.title), number(low), number(high));
}

}  // namespace

std::string mermaid(const Chart& chart) {
  if (chart.x.scale == Scale::logarithmic || chart.y.scale == Scale::logarithmic) return "";
  Values measured;  // of all series but limits: at a place where one has no point, another has one
  std::vector<Values> limits;
  bool bars = false;
  for (const auto& series : chart.series) {
    if (has_interval(series)) return "";
    bars = bars || series.marks == Marks::bars;
    Values& values = series.marks == Marks::ideal ? limits.emplace_back() : measured;
    for (const auto& point : series.points) {
      if (!values.emplace(point.x, point.y).second) return "";
    }
  }
  const bool whole = chart.x.categories.empty() || chart.x.categories.size() == measured.size();
  if (measured.size() < 2 || !whole || !evenly_apart(measured)) return "";
  std::erase_if(limits, [&](const Values& limit) {
    return !std::ranges::equal(
        limit, measured, {}, [](const auto& v) { return v.first; }, [](const auto& v) { return v.first; });
  });
  std::vector<const Values*> drawn{&measured};
  for (const auto& limit : limits) drawn.push_back(&limit);
  auto out = "xychart-beta\n  title " + quoted(chart.title) + "\n" + x_axis(chart.x, measured) + y_axis(chart.y, drawn);
  out += data(bars ? "bar" : "line", measured);
  for (const auto& limit : limits) out += data("line", limit);
  return out;
}

}  // namespace perfbench::reports
