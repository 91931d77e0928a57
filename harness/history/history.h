// The history of a store, read and screened: what `perfbench history` prints and a nightly run goes on from.
#pragma once

#include <string>
#include <vector>

#include "harness/history/screening.h"

namespace perfbench::harness {

struct HistoryResult {
  std::string metric;
  std::vector<ScreenedSeries> series;  // of the newest night, by matrix, cell, run
  std::vector<AlertFinding> vanished;

  // All that was found: shifts first, then vanished cells.
  std::vector<AlertFinding> findings() const;
};

// No series where the store has no night that the query asks for. Throws InputError for a metric without direction.
HistoryResult look_at_history(const Connection& db, const HistoryQuery& query, const ScreenRule& rule = {});

}  // namespace perfbench::harness
