#include "reports/content/history_charts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "harness/stats/screen.h"
#include "harness/system/utc.h"
#include "reports/content/alert_document.h"
#include "reports/render/chart/axis.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {

using harness::ScreenedSeries;
using harness::ScreenState;

namespace {

std::string key_of(const char* what, const ScreenedSeries& series) {
  const auto& of = series.series;
  return std::string(what) + "_" + of.metric + " " + of.matrix + " " + of.cell + " " + of.machine;
}

std::string series_title(const ScreenedSeries& series) {
  return series.series.matrix + " " + series.series.cell + (series.is_control ? " (the control)" : "");
}

double place(std::size_t night) {
  return static_cast<double>(night);
}

// The axis of all charts of a series: its nights in order, named by their dates.
ChartAxis nights_axis(const ScreenedSeries& series) {
  ChartAxis out{.title = "night"};
  for (const auto& night : series.nights) out.categories.push_back(harness::date_of(night.night.started_utc));
  return out;
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

// Uses the nights that the screen got, up to one of them.
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

std::string series_chart_key(const ScreenedSeries& series) {
  return key_of("series", series);
}

Chart series_chart(const ScreenedSeries& series, const std::string& metric) {
  Chart out{.key = series_chart_key(series),
            .title = series_title(series),
            .x = nights_axis(series),
            .y = {.title = ""},
            .series = {{.name = "quiet", .points = {}}}};
  ChartSeries noisy{.name = "the machine's speed moved", .marks = Marks::points, .points = {}};
  for (std::size_t i = 0; i < series.nights.size(); ++i) {
    const auto& night = series.nights[i];
    ChartPoint point{.x = place(i), .y = night.value, .label = night.night.started_utc};
    if (!night.night.revision.empty()) point.label += ", commit " + night.night.revision;
    (night.noisy ? noisy : out.series[0]).points.push_back(std::move(point));
  }
  if (!noisy.points.empty()) out.series.push_back(std::move(noisy));
  if (series.control) {
    ChartSeries less{.name = "minus the control's drift", .marks = Marks::ideal, .points = {}};
    for (const auto& night : series.screened) {
      less.points.push_back({.x = place(night.night), .y = std::exp(night.log)});
    }
    out.series.push_back(std::move(less));
  }
  add_spans(out, series);
  show_in_unit(out, metric, spec::unit_of(metric));
  return out;
}

Chart score_chart(const ScreenedSeries& series) {
  Chart out{.key = key_of("score", series),
            .title = "Screen of " + series_title(series),
            .x = nights_axis(series),
            .y = {.title = "largest shift (standard errors)", .from_zero = true},
            .series = {{.name = "score", .points = {}}}};
  const auto logs = logs_of(series);
  auto& points = out.series[0].points;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const auto score = score_up_to(logs, i + 1);
    if (score) points.push_back({.x = place(series.screened[i].night), .y = *score});
  }
  // A single night has another scale.
  const bool of_that_scale = series.shift && !points.empty() && series.shift->score == points.back().y;
  if (of_that_scale) {
    out.series.push_back({.name = "threshold of the newest night",
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

Tone series_tone(const ScreenedSeries& series) {
  switch (series.state) {
    case ScreenState::too_few_nights:
      return Tone::doubtful;
    case ScreenState::shifted:
      return harness::is_bad(series.finding->kind) ? Tone::bad : Tone::good;
    case ScreenState::steady:
      break;
  }
  return series.known ? Tone::doubtful : Tone::plain;
}

bool has_shifted(const ScreenedSeries& series) {
  return series.state == ScreenState::shifted || series.known.has_value();
}

std::vector<const ScreenedSeries*> drawn_series(const harness::HistoryResult& result, std::size_t most) {
  std::vector<const ScreenedSeries*> out;
  for (const auto& series : result.series) out.push_back(&series);
  std::ranges::stable_sort(out, std::greater<>(), [](const ScreenedSeries* series) {
    const bool is_new = series->state == ScreenState::shifted;
    return std::tuple(has_shifted(*series), is_new, series_tone(*series) == Tone::bad);
  });
  out.resize(std::min(most, out.size()));
  return out;
}

}  // namespace perfbench::reports
