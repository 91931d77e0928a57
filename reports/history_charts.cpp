#include "reports/history_charts.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "harness/stats/screen.h"
#include "reports/alert_phrases.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {

using harness::ScreenedSeries;
using harness::ScreenState;

namespace {

constexpr std::size_t kScoredSeries = 8;  // of those that did not shift: each night's score takes some microseconds

std::string key_of(const char* what, const ScreenedSeries& series) {
  const auto& of = series.series;
  return std::string(what) + "_" + of.metric + " " + of.matrix + " " + of.cell + " " + of.machine;
}

std::string title_of(const ScreenedSeries& series) {
  return series.series.matrix + " " + series.series.cell + (series.is_control ? " (the control)" : "");
}

// Nights are drawn by their places, counted from 1.
double place(std::size_t night) {
  return static_cast<double>(night + 1);
}

void add_spans(Chart& out, const ScreenedSeries& series) {
  for (std::size_t i = 0; i < series.nights.size(); ++i) {
    const auto& id = series.nights[i].night.sweep_id;
    const bool shifted = series.state == ScreenState::shifted && series.finding;
    if (shifted && series.finding->first_bad.sweep_id == id) {
      out.spans.push_back(
          {.name = change_text(*series.finding), .from = place(i) - 0.5, .to = place(series.nights.size()) - 0.5});
    }
    for (const auto& change : series.changes) {
      if (change.night.sweep_id != id) continue;
      out.spans.push_back({.name = change_text(change), .from = place(i) - 0.5, .to = place(i) + 0.5});
    }
  }
}

// Of the nights that the screen was given up to one of them; it looks at so many (newest() of screen.cpp).
std::optional<double> score_up_to(const std::vector<double>& logs, std::size_t end) {
  const harness::ScreenRule rule;
  const auto most = rule.most_recent + rule.most_reference;
  const auto first = end > most ? end - most : 0;
  const auto found = harness::largest_shift(std::span(logs).subspan(first, end - first), rule);
  if (!found) return std::nullopt;
  return found->score;
}

std::vector<double> logs_of(const ScreenedSeries& series) {
  std::vector<double> out;
  for (const auto& night : series.screened) out.push_back(night.log);
  return out;
}

}  // namespace

Chart series_chart(const ScreenedSeries& series, const std::string& metric) {
  const auto known = spec::find_metric(metric);
  const bool is_bytes = known && known->unit == "bytes";
  const double unit = is_bytes ? 1024.0 * 1024.0 : 1;
  Chart out{.key = key_of("series", series),
            .title = title_of(series),
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
            .title = "Screen of " + title_of(series),
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
