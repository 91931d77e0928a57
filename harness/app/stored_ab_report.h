// A comparison in pairs as the store has it, for whoever shows it again or while it runs.
#pragma once

#include <optional>
#include <string>

#include "harness/app/ab_comparison.h"

namespace perfbench::harness {

struct StoredAbReport {
  AbReport report;
  bool finished = false;  // else its cells have pairs and no verdicts
};

// Its verdicts are those that were recorded; where in a step a difference lies is not on record, nor why pairs did not
// take turns. Nothing where no comparison has that id. Throws UnreadableRow (harness/store/stored_row.h).
std::optional<StoredAbReport> stored_ab_report(const Connection& db, const std::string& comparison_id);

}  // namespace perfbench::harness
