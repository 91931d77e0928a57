#include "harness/history/history.h"

namespace perfbench::harness {

std::vector<AlertFinding> HistoryResult::findings() const {
  std::vector<AlertFinding> out;
  for (const auto& one : series) {
    if (one.finding) out.push_back(*one.finding);
  }
  out.insert(out.end(), vanished.begin(), vanished.end());
  return out;
}

HistoryResult look_at_history(const Connection& db, const HistoryQuery& query, const ScreenRule& rule) {
  const auto series = load_history(db, query);
  HistoryResult out{.metric = query.metric,
                    .series = screen_series(series, rule),
                    .vanished = vanished_cells(series, load_tonight(db))};
  for (auto& one : out.series) {
    if (one.finding && one.finding->kind != AlertKind::environment) {
      weigh_against_probe(one, load_probes(db, one.series));
    }
  }
  return out;
}

}  // namespace perfbench::harness
