// Problems of the ledger of baselines that users should solve. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/compare.h"
#include "harness/records/baseline.h"

namespace perfbench::harness {

struct LedgerFinding {
  std::string what;     // a sentence
  std::string command;  // the command that solves it
};

// Names whose newest entry has expired and that have no other entry in force: comparisons with them fail.
std::vector<LedgerFinding> expired_baselines(const std::vector<Baseline>& ledger, const std::string& now_utc);

// Cells that improved by more than the margin of their metric. From now on, they may lose all of the improvement
// without a verdict against this baseline. Only for baselines made of runs, because a published row or another binary
// cannot be refreshed. `selection` describes what was compared (harness/store/queries/query.h).
std::optional<LedgerFinding> refresh_after_improvement(const std::vector<CellComparison>& comparisons,
                                                       const Baseline& baseline, const std::string& selection);

// Pairs with the control are made once a month, because a slow creep stays below every nightly threshold. The next
// check is a calendar month after the last one, or at the month's end if it has no such day ("2026-01-31T..." ->
// "2026-02-28T...").
std::string next_creep_check(const std::string& last_utc);
// Due at once if there was no check yet (`last_utc` is empty).
bool creep_check_is_due(const std::string& last_utc, const std::string& now_utc);

}  // namespace perfbench::harness
