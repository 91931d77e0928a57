#include "reports/render/chart/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
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

std::vector<double> linear_ticks(const AxisRange& range, int wanted, double least_step = 0) {
  std::vector<double> out;
  const double step = std::max(step_of(range.high - range.low, wanted), least_step);
  // Uses integer multiples, because sums of steps would not be equal on every machine.
  const auto first = static_cast<long>(std::ceil(range.low / step - 1e-9));
  const auto last = static_cast<long>(std::floor(range.high / step + 1e-9));
  for (long i = first; i <= last; ++i) out.push_back(static_cast<double>(i) * step);
  return out;
}

// These multiples of each power of ten.
std::vector<double> decades(const AxisRange& range, const std::vector<double>& factors) {
  std::vector<double> out;
  constexpr double kSlack = 1e-9;
  const auto first = static_cast<int>(std::floor(std::log10(range.low)));
  const auto last = static_cast<int>(std::floor(std::log10(range.high) + kSlack));
  for (int i = first; i <= last; ++i) {
    for (const double factor : factors) {
      const double tick = factor * std::pow(10.0, i);
      if (tick >= range.low * (1 - kSlack) && tick <= range.high * (1 + kSlack)) out.push_back(tick);
    }
  }
  return out;
}

std::vector<double> logarithmic_ticks(const AxisRange& range, int wanted) {
  const auto most = static_cast<std::size_t>(wanted);
  auto out = decades(range, {1, 2, 5});
  if (out.size() < 3) return linear_ticks(range, wanted);
  if (out.size() > most) out = decades(range, {1});
  while (out.size() > most) {
    std::vector<double> fewer;
    for (std::size_t i = 0; i < out.size(); i += 2) fewer.push_back(out[i]);
    out = fewer;
  }
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
  if (axis.range) return *axis.range;
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

void show_in_unit(Chart& chart, const std::string& title, std::string_view unit) {
  double typical = 0;
  for (const auto& series : chart.series) {
    for (const auto& point : series.points) {
      const double size = std::abs(point.y);
      const bool is_better = chart.y.from_zero ? size > typical : size > 0 && (typical == 0 || size < typical);
      if (is_better) typical = size;
    }
  }
  const auto shown = shown_unit(unit, typical);
  for (auto& series : chart.series) {
    for (auto& point : series.points) {
      point.y *= shown.factor;
      if (point.low) *point.low *= shown.factor;
      if (point.high) *point.high *= shown.factor;
    }
  }
  if (chart.y.end) *chart.y.end *= shown.factor;
  chart.y.title = shown.name.empty() ? title : title + " (" + shown.name + ")";
}

std::vector<double> axis_ticks(const ChartAxis& axis, const AxisRange& range, int wanted) {
  if (!axis.ticks.empty()) return axis.ticks;
  if (!axis.categories.empty()) {
    std::vector<double> out;
    const auto count = static_cast<int>(axis.categories.size());
    const int each = std::max(1, (count + wanted - 1) / wanted);
    for (int i = 0; i < count; i += each) out.push_back(i);
    return out;
  }
  if (axis.scale == Scale::logarithmic) return logarithmic_ticks(range, wanted);
  return linear_ticks(range, wanted, axis.scale == Scale::date ? 1 : 0);
}

double axis_share(const ChartAxis& axis, const AxisRange& range, double value) {
  if (axis.scale == Scale::logarithmic) return std::log(value / range.low) / std::log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}

std::string date_text(double days) {
  const auto day = std::chrono::days(static_cast<int>(std::floor(days)));
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  return fmt::format("{:04}-{:02}-{:02}", int{date.year()}, unsigned{date.month()}, unsigned{date.day()});
}

std::string tick_text(const ChartAxis& axis, double value, std::size_t letters) {
  if (!axis.categories.empty()) {
    const auto name = shown(axis.categories[static_cast<std::size_t>(value)]);
    return name.size() <= letters ? name : std::string(cut_to(name, std::max<std::size_t>(letters, 2) - 1)) + "\u2026";
  }
  if (axis.scale == Scale::date) return date_text(value);
  constexpr double kLong = 1e5;
  return std::abs(value) >= kLong ? human_count(value) : fmt::format("{:.6g}", value);
}

}  // namespace perfbench::reports
