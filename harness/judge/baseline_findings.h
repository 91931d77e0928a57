// What the ledger of baselines asks of its keepers. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/compare.h"
#include "harness/records/baseline.h"

namespace perfbench::harness {

struct LedgerFinding {
  std::string what;     // a sentence
  std::string command;  // that answers it
};

// Names whose newest entry has expired, with none left in force: comparisons with them end with an error.
std::vector<LedgerFinding> expired_baselines(const std::vector<Baseline>& ledger, const std::string& now_utc);

// Cells that improved beyond the margin of their metric: from now on, they may lose all of it again without a verdict
// against this baseline. Only of baselines made of runs: a published row or another binary is not ours to move.
// `selection` is what was compared (harness/store/queries/query.h).
std::optional<LedgerFinding> refresh_after_improvement(const std::vector<CellComparison>& comparisons,
                                                       const Baseline& baseline, const std::string& selection);

// Pairs with the control are made once a month, since a slow creep stays below every nightly threshold: a calendar
// month after the last check, at the month's end where it has no such day ("2026-01-31T..." -> "2026-02-28T...").
std::string next_creep_check(const std::string& last_utc);
// At once where it was never checked (`last_utc` empty).
bool creep_check_is_due(const std::string& last_utc, const std::string& now_utc);

}  // namespace perfbench::harness
