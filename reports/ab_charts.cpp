#include "reports/ab_charts.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "reports/attribution_document.h"
#include "reports/verdict_tone.h"

namespace perfbench::reports {
namespace {

using harness::CellVerdict;
using harness::Verdict;

constexpr double kPercent = 100;
constexpr std::size_t kCellsDrawn = 12;
constexpr std::size_t kSharesDrawn = 12;

Colour colour_of(Verdict verdict) {
  switch (tone_of(verdict)) {
    case Tone::good:
      return Colour::good;
    case Tone::bad:
      return Colour::bad;
    case Tone::doubtful:
      return Colour::doubtful;
    case Tone::plain:
      break;
  }
  return Colour::plain;
}

// The metric first: of a long name the end is cut off.
std::string category(const std::vector<CellVerdict>& cells, const CellVerdict& cell, const std::string& metric) {
  return cells.size() == 1 ? metric : metric + ", " + cell.label;
}

// Estimates with their intervals, and the margins below which a difference does not matter.
Chart decisions_chart(const std::vector<CellVerdict>& cells) {
  Chart out{.key = "decisions",
            .title = "B against A, with 95 % intervals",
            .x = {.title = cells.size() == 1 ? "metric" : "metric and cell"},
            .y = {.title = "%", .from_zero = true},
            .series = {}};
  std::map<Verdict, ChartSeries> by_verdict;
  ChartSeries margins{
      .name = "differences that would matter", .marks = Marks::points, .points = {}, .colour = Colour::limit};
  for (const auto& cell : cells) {
    for (const auto& metric : cell.metrics) {
      const auto& decision = metric.decided.decision;
      if (!decision.ratio) continue;
      const auto x = static_cast<double>(out.x.categories.size());
      out.x.categories.push_back(category(cells, cell, metric.rule.metric));
      ChartPoint point{.x = x, .y = (*decision.ratio - 1) * kPercent};
      if (decision.ratio_95) {
        point.low = (decision.ratio_95->low - 1) * kPercent;
        point.high = (decision.ratio_95->high - 1) * kPercent;
      }
      auto& series = by_verdict[decision.verdict];
      series.name = spec::enum_name(decision.verdict);
      series.marks = Marks::points;
      series.colour = colour_of(decision.verdict);
      series.points.push_back(std::move(point));
      for (const double sign : {-1.0, 1.0}) {
        margins.points.push_back({.x = x, .y = sign * metric.rule.margin_fraction * kPercent});
      }
    }
  }
  for (auto& [verdict, series] : by_verdict) out.series.push_back(std::move(series));
  if (!out.series.empty()) out.series.push_back(std::move(margins));
  return out;
}

const harness::MetricVerdict* step_time_of(const CellVerdict& cell) {
  const auto found = std::find_if(cell.metrics.begin(), cell.metrics.end(),
                                  [](const auto& metric) { return metric.rule.metric == "step_time_s"; });
  return found == cell.metrics.end() ? nullptr : &*found;
}

// Each pair's own ratio, also of those behind the look that decided; lines at the estimate and at the margin on both
// sides.
Chart pairs_chart(const CellVerdict& cell) {
  Chart out{.key = "pairs_" + cell.label,
            .title = "Step time of B against A, pair by pair: " + cell.label,
            .x = {.title = "pair"},
            .y = {.title = "%", .from_zero = true},
            .series = {}};
  ChartSeries kept{.name = "kept", .marks = Marks::points, .points = {}, .colour = Colour::plain};
  ChartSeries discarded{.name = "discarded", .marks = Marks::points, .points = {}, .colour = Colour::doubtful};
  for (const auto& pair : cell.pairs_seen) {
    if (!pair.step_ratio) continue;
    (pair.discarded.empty() ? kept : discarded)
        .points.push_back(
            {.x = static_cast<double>(pair.number), .y = (*pair.step_ratio - 1) * kPercent, .label = pair.discarded});
  }
  const bool nothing = kept.points.empty() && discarded.points.empty();
  for (auto* series : {&kept, &discarded}) {
    if (!series->points.empty()) out.series.push_back(std::move(*series));
  }
  const auto* metric = step_time_of(cell);
  if (nothing || metric == nullptr) return out;
  const auto line = [&](const char* name, double percent, Colour colour) {
    const auto last = static_cast<double>(cell.pairs_seen.back().number);
    out.series.push_back({.name = name,
                          .marks = Marks::ideal,
                          .points = {{.x = 1, .y = percent}, {.x = last, .y = percent}},
                          .colour = colour});
  };
  if (const auto& ratio = metric->decided.decision.ratio) line("estimate", (*ratio - 1) * kPercent, Colour::plain);
  line("would matter, slower", metric->rule.margin_fraction * kPercent, Colour::bad);
  line("would matter, faster", -metric->rule.margin_fraction * kPercent, Colour::good);
  return out;
}

}  // namespace

std::vector<Chart> ab_charts(const std::vector<CellVerdict>& cells) {
  std::vector<Chart> out;
  if (auto all = decisions_chart(cells); !all.series.empty()) out.push_back(std::move(all));
  std::vector<const CellVerdict*> order;
  for (const auto& cell : cells) order.push_back(&cell);
  std::stable_partition(order.begin(), order.end(), [](const CellVerdict* cell) {
    return harness::overall(harness::verdicts_of({*cell})) != Verdict::same;
  });
  order.resize(std::min(order.size(), kCellsDrawn));
  for (const auto* cell : order) {
    if (auto pairs = pairs_chart(*cell); !pairs.series.empty()) out.push_back(std::move(pairs));
    if (!cell->attribution) continue;
    auto parts = attribution_chart(*cell->attribution, kSharesDrawn);
    parts.key += "_" + cell->label;
    parts.title += ": " + cell->label;
    out.push_back(std::move(parts));
  }
  return out;
}

}  // namespace perfbench::reports
