#include "harness/history/history.h"

#include <fmt/core.h>

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
                    .vanished = vanished_cells(series, load_tonight(db, query)),
                    .future = load_future_nights(db, query)};
  for (auto& one : out.series) {
    if (one.finding && one.finding->kind != AlertKind::environment) {
      weigh_against_probe(one, load_probes(db, one.series));
    }
  }
  return out;
}

std::string future_night_text(const AlertNight& night) {
  return fmt::format("The sweep {} is dated {}, which is in the future, and was not looked at", night.sweep_id,
                     night.started_utc);
}

}  // namespace perfbench::harness
