#include "reports/content/history_small_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "harness/stats/statistics.h"
#include "harness/system/utc.h"
#include "reports/content/cells.h"
#include "reports/content/history_charts.h"
#include "reports/render/chart/axis.h"
#include "reports/render/format/number.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {
namespace {

using harness::NightPoint;
using harness::ScreenedSeries;

constexpr const char* kCaption =
    "Change in percent from the median of up to 40 nights before the shift; without a shift, before the newest night. "
    "All charts have the same axes; an arrow is a night beyond them. Nights since a shift are shaded.";

double days_of(const NightPoint& night) {
  constexpr double kDay_s = 24 * 3600;
  return static_cast<double>(night.started_s) / kDay_s;
}

// The first night since the shift; nullopt without a shift, or if no night of the series precedes it.
std::optional<std::size_t> first_shifted_night(const ScreenedSeries& series) {
  const auto first = std::ranges::find_if(series.nights, [&](const NightPoint& night) {
    if (series.finding) return night.night.sweep_id == series.finding->first_bad.sweep_id;
    return series.known && night.night.started_utc >= series.known->first_utc;
  });
  if (first == series.nights.begin() || first == series.nights.end()) return std::nullopt;
  return static_cast<std::size_t>(first - series.nights.begin());
}

// A series relative to its level.
struct RelativeSeries {
  const ScreenedSeries* series = nullptr;
  std::optional<std::size_t> shifted;
  std::vector<double> ratios;  // of each night's value to the level
};

RelativeSeries relative_to_level(const ScreenedSeries& series) {
  RelativeSeries out{.series = &series, .shifted = first_shifted_night(series), .ratios = {}};
  const auto& nights = series.nights;
  const bool has_level = nights.size() > 1;
  const double level_log = has_level ? harness::log_level_before(nights, out.shifted.value_or(nights.size() - 1))
                                     : std::log(nights.front().value);
  for (const auto& night : nights) out.ratios.push_back(std::exp(std::log(night.value) - level_log));
  return out;
}

double percent_of(double ratio) {
  return 100 * (ratio - 1);
}

// Widens the range by those of some nights of a series that are not far out.
void cover(AxisRange& range, std::span<const double> ratios) {
  constexpr double kFences = 3;
  constexpr double kAlwaysNear = 1;  // percent: nights without noise have no distance of the quartiles
  if (ratios.empty()) return;
  std::vector<double> percents;
  for (const double ratio : ratios) percents.push_back(percent_of(ratio));
  const double lower = harness::quantile(percents, 0.25);
  const double upper = harness::quantile(percents, 0.75);
  const double far = kFences * (upper - lower) + kAlwaysNear;
  for (const double percent : percents) {
    if (percent < lower - far || percent > upper + far) continue;
    range = {std::min(range.low, percent), std::max(range.high, percent)};
  }
}

ChartAxis changes_axis(const std::vector<RelativeSeries>& all) {
  constexpr double kLeast = 2;
  constexpr double kMost = 25;
  AxisRange range{-kLeast, kLeast};
  for (const auto& one : all) {
    const std::span ratios(one.ratios);
    const auto before = one.shifted.value_or(ratios.size());
    cover(range, ratios.first(before));
    cover(range, ratios.subspan(before));
  }
  ChartAxis out{.title = "change (%)"};
  out.range = axis_range(out, {std::max(range.low, -kMost), std::min(range.high, kMost)});
  return out;
}

ChartAxis days_axis(const std::vector<RelativeSeries>& all) {
  constexpr double kMargin = 0.02;
  constexpr double kHalfDay = 0.5;
  AxisRange days{days_of(all.front().series->nights.front()), days_of(all.front().series->nights.back())};
  for (const auto& one : all) {
    days.low = std::min(days.low, days_of(one.series->nights.front()));
    days.high = std::max(days.high, days_of(one.series->nights.back()));
  }
  ChartAxis out{.title = "night", .scale = Scale::date, .ticks = {days.low}};
  if (date_text(days.low) != date_text(days.high)) out.ticks.push_back(days.high);
  const double margin = std::max(kMargin * (days.high - days.low), kHalfDay);
  out.range = AxisRange{days.low - margin, days.high + margin};
  return out;
}

// The short labels of the cells, with the matrix and the machine if they differ.
std::vector<std::string> small_titles(const std::vector<const ScreenedSeries*>& drawn) {
  std::vector<std::string> cells;
  std::set<std::string> matrices;
  std::set<std::string> machines;
  for (const auto* one : drawn) {
    cells.push_back(one->series.cell);
    if (!one->is_control) matrices.insert(one->series.matrix);
    machines.insert(one->series.machine);
  }
  const auto names = short_labels(cells);
  std::vector<std::string> out;
  for (const auto* one : drawn) {
    auto title = names.at(one->series.cell);
    if (matrices.size() > 1) title = one->series.matrix + ": " + title;
    if (one->is_control) title += " (the control)";
    if (machines.size() > 1) title += ", machine " + id_cell(one->series.machine).text;
    out.push_back(std::move(title));
  }
  return out;
}

Chart small_chart(const RelativeSeries& one, const ChartAxis& days, const ChartAxis& changes) {
  const auto& series = *one.series;
  const auto colour = colour_of(series_tone(series));
  Chart out{.key = "",
            .title = "",
            .x = days,
            .y = changes,
            .series = {{.name = "", .points = {}, .colour = colour},
                       {.name = "the machine's speed moved", .marks = Marks::points, .points = {}, .colour = colour}},
            .small = true};
  const auto unit = spec::unit_of(series.series.metric);
  for (std::size_t i = 0; i < series.nights.size(); ++i) {
    const auto& night = series.nights[i];
    out.series[night.noisy ? 1 : 0].points.push_back(
        {.x = days_of(night), .y = percent_of(one.ratios[i]), .label = format_amount(night.value, unit)});
  }
  if (one.shifted) {
    const auto first = *one.shifted;
    out.spans.push_back({.name = "since " + harness::date_of(series.nights[first].night.started_utc),
                         .from = (days_of(series.nights[first - 1]) + days_of(series.nights[first])) / 2,
                         .to = days_of(series.nights.back())});
  }
  return out;
}

}  // namespace

SmallCharts history_small_charts(const std::vector<const ScreenedSeries*>& drawn) {
  std::vector<RelativeSeries> all;
  for (const auto* series : drawn) all.push_back(relative_to_level(*series));
  const auto days = days_axis(all);
  const auto changes = changes_axis(all);
  const auto titles = small_titles(drawn);
  SmallCharts out{.key = "small_charts", .caption = kCaption, .charts = {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& series = *all[i].series;
    auto chart = small_chart(all[i], days, changes);
    chart.title = titles[i];
    out.charts.push_back(
        {.chart = std::move(chart),
         .value = format_amount(series.nights.back().value, spec::unit_of(series.series.metric)),
         .change = series.nights.size() > 1 ? format_percent_change(all[i].ratios.back()) : "one night",
         .tone = series_tone(series),
         .opens = series_chart_key(series)});
  }
  return out;
}

}  // namespace perfbench::reports
