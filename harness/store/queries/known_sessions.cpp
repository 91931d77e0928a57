#include "harness/store/queries/known_sessions.h"

#include <cmath>
#include <set>

#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;

}  // namespace

SessionLevels session_levels(const std::vector<SeriesHistory>& series) {
  SessionLevels out;
  for (const auto& one : series) {
    if (one.is_control) continue;  // another engine
    auto& levels = out[{one.matrix, one.run_id}];
    for (const auto& night : one.nights) {
      if (night.noisy) continue;
      levels.push_back({.sweep_id = night.night.sweep_id,
                        .day = night.started_s / kSecondsPerDay,
                        .machine = night.machine,
                        .log_level = std::log(night.value),
                        .runs = night.runs});
    }
  }
  return out;
}

KnownSessions load_known_sessions(const Connection& db, const std::vector<CellRuns>& cells,
                                  const std::vector<std::string>& metrics) {
  std::set<std::string> matrices;
  for (const auto& cell : cells) matrices.insert(cell.matrix);
  KnownSessions out;
  for (const auto& metric : metrics) {
    if (!varies_between_sessions(metric)) continue;
    for (const auto& matrix : matrices) {
      const HistoryQuery query{.of = SweepsOf::measurement,
                               .matrix = matrix,
                               .metric = spec::follows_from_mean_step(metric) ? "step_time_mean_s" : metric};
      out[metric].merge(session_levels(load_history(db, query)));
    }
  }
  return out;
}

}  // namespace perfbench::harness
