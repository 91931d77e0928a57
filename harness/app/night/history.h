// The history of a store, read and screened, for `perfbench history` and nightly runs.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/screening.h"
#include "harness/store/queries/series.h"

namespace perfbench::harness {

struct HistoryResult {
  std::string metric;
  std::vector<ScreenedSeries> series;  // for the newest night, or the query's, by matrix, cell, run
  std::vector<TonightCell> tonight;    // cells of the newest night of each matrix, or of the query's
  std::vector<Finding> vanished;
  std::vector<NightId> future;  // future nights, which were ignored
  // For every cell that was ever measured: the nights before the newest one of its matrix, on any machine, oldest
  // first; by matrix and label.
  std::map<std::pair<std::string, std::string>, std::vector<NightPoint>> earlier;

  // All findings: shifts first, then vanished cells.
  std::vector<Finding> findings() const;
};

// Has no series if the store has no night that the query selects. Throws InputError for a metric without direction.
// `known` shifts are those of the alerts (harness/judge/alert_rules.h).
HistoryResult look_at_history(const Connection& db, const HistoryQuery& query,
                              const std::vector<KnownShift>& known = {}, const ScreenBudget& budget = {});
// "The sweep 2030... is dated 2030-01-01T02:00:00Z, which is in the future, and was not looked at".
std::string future_night_text(const NightId& night);

}  // namespace perfbench::harness
