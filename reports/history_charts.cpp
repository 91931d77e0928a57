#include "reports/history_charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "harness/stats/screen.h"
#include "reports/alert_phrases.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {

using harness::ScreenedSeries;
using harness::ScreenState;

namespace {

constexpr std::size_t kScoredSeries = 8;  // the first, and all that shifted: each night's score takes microseconds

std::string key_of(const char* what, const ScreenedSeries& series) {
  const auto& of = series.series;
  return std::string(what) + "_" + of.metric + " " + of.matrix + " " + of.cell + " " + of.machine;
}

std::string series_title(const ScreenedSeries& series) {
  return series.series.matrix + " " + series.series.cell + (series.is_control ? " (the control)" : "");
}

// Nights are drawn by their places, counted from 1.
double place(std::size_t night) {
  return static_cast<double>(night + 1);
}

void add_spans(Chart& out, const ScreenedSeries& series) {
  std::map<std::string, double> places;  // by sweep
  for (std::size_t i = 0; i < series.nights.size(); ++i) places[series.nights[i].night.sweep_id] = place(i);
  const auto shade = [&](const harness::NightId& night, const std::string& name, bool to_the_end) {
    const auto from = places.find(night.sweep_id);
    if (from == places.end()) return;
    const double to = to_the_end ? place(series.nights.size()) - 0.5 : from->second + 0.5;
    out.spans.push_back({.name = name, .from = from->second - 0.5, .to = to});
  };
  const bool shifted = series.state == ScreenState::shifted && series.finding;
  if (shifted) shade(series.finding->first_bad, change_text(*series.finding), true);
  for (const auto& change : series.changes) shade(change.night, change_text(change), false);
}

// Of the nights that the screen was given up to one of them.
std::optional<double> score_up_to(const std::vector<double>& logs, std::size_t end) {
  const auto found = harness::largest_shift(harness::nights_screened(std::span(logs).first(end)), {});
  if (!found) return std::nullopt;
  return found->score;
}

std::vector<double> logs_of(const ScreenedSeries& series) {
  std::vector<double> out;
  for (const auto& night : series.screened) out.push_back(night.leveled);
  return out;
}

}  // namespace

Chart series_chart(const ScreenedSeries& series, const std::string& metric) {
  const auto known = spec::find_metric(metric);
  const bool is_bytes = known && known->unit == "bytes";
  const double unit = is_bytes ? 1024.0 * 1024.0 : 1;
  Chart out{.key = key_of("series", series),
            .title = series_title(series),
            .x = {.title = "night"},
            .y = {.title = metric + (known ? " (" + (is_bytes ? "MiB" : std::string(known->unit)) + ")" : "")},
            .series = {{.name = "quiet", .points = {}}}};
  ChartSeries noisy{.name = "the machine's speed moved", .marks = Marks::points, .points = {}};
  for (std::size_t i = 0; i < series.nights.size(); ++i) {
    const auto& night = series.nights[i];
    ChartPoint point{.x = place(i), .y = night.value / unit, .label = night.night.started_utc};
    if (!night.night.revision.empty()) point.label += ", commit " + night.night.revision;
    (night.noisy ? noisy : out.series[0]).points.push_back(std::move(point));
  }
  if (!noisy.points.empty()) out.series.push_back(std::move(noisy));
  if (series.control) {
    ChartSeries less{.name = "less the control's drift", .marks = Marks::ideal, .points = {}};
    for (const auto& night : series.screened) {
      less.points.push_back({.x = place(night.night), .y = std::exp(night.log) / unit});
    }
    out.series.push_back(std::move(less));
  }
  add_spans(out, series);
  return out;
}

Chart score_chart(const ScreenedSeries& series) {
  Chart out{.key = key_of("score", series),
            .title = "Screen of " + series_title(series),
            .x = {.title = "night"},
            .y = {.title = "largest shift (standard errors)", .from_zero = true},
            .series = {{.name = "score", .points = {}}}};
  const auto logs = logs_of(series);
  auto& points = out.series[0].points;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto score = score_up_to(logs, i + 1);
    if (score) points.push_back({.x = place(series.screened[i].night), .y = *score});
  }
  // A night alone has another scale.
  const bool of_that_scale = series.shift && !points.empty() && series.shift->score == points.back().y;
  if (of_that_scale) {
    out.series.push_back({.name = "threshold of the newest",
                          .marks = Marks::ideal,
                          .points = {{.x = points.front().x, .y = series.shift->threshold},
                                     {.x = points.back().x, .y = series.shift->threshold}}});
  }
  return out;
}

std::optional<double> shift_score(const ScreenedSeries& series) {
  const auto logs = logs_of(series);
  return score_up_to(logs, logs.size());
}

std::vector<Chart> history_charts(const harness::HistoryResult& result, std::size_t most) {
  std::vector<const ScreenedSeries*> order;
  for (const auto& series : result.series) order.push_back(&series);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return (a->state == ScreenState::shifted) > (b->state == ScreenState::shifted);
  });
  std::vector<Chart> out;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) {
    out.push_back(series_chart(*order[i], result.metric));
    if (i >= kScoredSeries && order[i]->state != ScreenState::shifted) continue;
    if (auto scores = score_chart(*order[i]); !scores.series[0].points.empty()) out.push_back(std::move(scores));
  }
  return out;
}

}  // namespace perfbench::reports
