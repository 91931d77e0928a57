// A comparison in pairs as the store has it, for whoever shows it again or while it runs.
#pragma once

#include <optional>
#include <string>

#include "harness/app/pairs/ab_comparison.h"

namespace perfbench::harness {

// Its verdicts and notes are those that were recorded. Not on record are which traced runs tell where a difference
// lies, and why instructions were not counted. Nothing where no comparison has that id. Throws UnreadableRow
// (harness/store/stored_row.h).
std::optional<AbReport> stored_ab_report(const Connection& db, const std::string& comparison_id);

}  // namespace perfbench::harness
