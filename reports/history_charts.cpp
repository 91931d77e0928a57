#include "reports/history_charts.h"

#include <algorithm>

#include "reports/alert_phrases.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::reports {

using harness::ScreenedSeries;
using harness::ScreenState;

Chart series_chart(const ScreenedSeries& series, const std::string& metric) {
  const auto known = spec::find_metric(metric);
  const bool is_bytes = known && known->unit == "bytes";
  const double unit = is_bytes ? 1024.0 * 1024.0 : 1;
  Chart out{
      .key = "series_" + metric + " " + series.series.matrix + " " + series.series.cell + " " + series.series.machine,
      .title = series.series.matrix + " " + series.series.cell + (series.is_control ? " (the control)" : ""),
      .x = {.title = "night"},
      .y = {.title = metric + (known ? " (" + (is_bytes ? "MiB" : std::string(known->unit)) + ")" : "")},
      .series = {{.name = "quiet", .points = {}}}};
  ChartSeries noisy{.name = "the machine's speed moved", .marks = Marks::points, .points = {}};
  for (std::size_t i = 0; i < series.nights.size(); ++i) {
    const auto& night = series.nights[i];
    ChartPoint point{.x = static_cast<double>(i + 1), .y = night.value / unit, .label = night.night.started_utc};
    if (!night.night.revision.empty()) point.label += ", " + night.night.revision;
    (night.noisy ? noisy : out.series[0]).points.push_back(std::move(point));
    const bool first_bad = series.state == ScreenState::shifted && series.finding &&
                           series.finding->first_bad.sweep_id == night.night.sweep_id;
    if (first_bad) {
      out.spans.push_back({.name = change_text(*series.finding),
                           .from = static_cast<double>(i) + 0.5,
                           .to = static_cast<double>(series.nights.size()) + 0.5});
    }
  }
  if (!noisy.points.empty()) out.series.push_back(std::move(noisy));
  return out;
}

std::vector<Chart> history_charts(const harness::HistoryResult& result, std::size_t most) {
  std::vector<const ScreenedSeries*> order;
  for (const auto& series : result.series) order.push_back(&series);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return (a->state == ScreenState::shifted) > (b->state == ScreenState::shifted);
  });
  std::vector<Chart> out;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) out.push_back(series_chart(*order[i], result.metric));
  return out;
}

}  // namespace perfbench::reports
