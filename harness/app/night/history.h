// The history of a store, read and screened: what `perfbench history` prints and a nightly run goes on from.
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
  std::vector<ScreenedSeries> series;  // of the newest night, or the query's, by matrix, cell, run
  std::vector<TonightCell> tonight;    // cells of the newest night of each matrix, or of the query's
  std::vector<Finding> vanished;
  std::vector<NightId> future;  // not looked at
  // Of every cell that was measured at all, the nights before the newest of its matrix, whatever the machine, oldest
  // first; by matrix and label.
  std::map<std::pair<std::string, std::string>, std::vector<NightPoint>> earlier;

  // All that was found: shifts first, then vanished cells.
  std::vector<Finding> findings() const;
};

// No series where the store has no night that the query asks for. Throws InputError for a metric without direction.
// `known` shifts are those of the alerts (harness/judge/alert_rules.h).
HistoryResult look_at_history(const Connection& db, const HistoryQuery& query,
                              const std::vector<KnownShift>& known = {}, const ScreenRule& rule = {});
// "The sweep 2030... is dated 2030-01-01T02:00:00Z, which is in the future, and was not looked at".
std::string future_night_text(const NightId& night);

}  // namespace perfbench::harness
