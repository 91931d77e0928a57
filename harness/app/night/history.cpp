#include "harness/app/night/history.h"

#include <fmt/core.h>

#include <algorithm>

namespace perfbench::harness {

std::vector<Finding> HistoryResult::findings() const {
  std::vector<Finding> out;
  for (const auto& one : series) {
    if (one.finding) out.push_back(*one.finding);
  }
  out.insert(out.end(), vanished.begin(), vanished.end());
  return out;
}

namespace {

std::map<std::pair<std::string, std::string>, std::vector<NightPoint>> earlier_nights(
    const std::vector<SeriesHistory>& series, const Tonight& tonight) {
  std::map<std::pair<std::string, std::string>, std::vector<NightPoint>> out;
  for (const auto& one : series) {
    if (one.is_control) continue;
    auto& nights = out[{one.matrix, one.cell}];
    const auto newest = tonight.night.find(one.matrix);
    for (const auto& point : one.nights) {
      if (newest == tonight.night.end() || point.night.sweep_id != newest->second.sweep_id) nights.push_back(point);
    }
  }
  for (auto& [cell, nights] : out) {  // for a cell that had another run before: two series
    std::stable_sort(nights.begin(), nights.end(),
                     [](const NightPoint& a, const NightPoint& b) { return a.started_s < b.started_s; });
  }
  return out;
}

}  // namespace

HistoryResult look_at_history(const Connection& db, const HistoryQuery& query, const std::vector<KnownShift>& known,
                              const ScreenBudget& budget) {
  const auto series = load_history(db, query);
  const auto tonight = load_tonight(db, query);
  HistoryResult out{.metric = query.metric,
                    .series = screen_series(series, known, rules_within(budget, tonight, query.metric)),
                    .tonight = tonight.cells,
                    .vanished = vanished_cells(series, tonight),
                    .future = load_future_nights(db, query),
                    .earlier = earlier_nights(series, tonight)};
  for (auto& one : out.series) {
    if (one.finding && one.finding->kind != FindingKind::environment) {
      weigh_against_probe(one, load_probes(db, one.series));
    }
  }
  return out;
}

std::string future_night_text(const NightId& night) {
  return fmt::format("The sweep {} is dated {}, which is in the future, and was ignored", night.sweep_id,
                     night.started_utc);
}

}  // namespace perfbench::harness
