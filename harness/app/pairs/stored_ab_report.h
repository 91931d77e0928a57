// A comparison in pairs as stored, for display later or while it runs.
#pragma once

#include <optional>
#include <string>

#include "harness/app/pairs/ab_comparison.h"

namespace perfbench::harness {

// Verdicts and notes are those that were recorded. Two things are not recorded: which traced runs explain a difference,
// and why instructions were not counted. nullopt if no comparison has that id. Throws UnreadableRow
// (harness/store/stored_row.h).
std::optional<AbReport> stored_ab_report(const Connection& db, const std::string& comparison_id);

}  // namespace perfbench::harness
