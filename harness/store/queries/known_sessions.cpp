#include "harness/store/queries/known_sessions.h"

#include <set>

#include "harness/judge/session_levels.h"
#include "harness/store/queries/series.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
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
