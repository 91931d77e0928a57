// Compares two sides over a matrix, from the user's words to the report. Used by compare --ab, bisect and nightly.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/pairs/ab_options.h"
#include "harness/judge/cell_verdict.h"
#include "harness/pairs/sides.h"
#include "harness/store/ledgers/comparison_ledger.h"

namespace perfbench::harness {

class Interruption;

// The results of a comparison, for display.
struct AbReport {
  ComparisonRecord comparison;
  std::vector<CellVerdict> cells;
  bool finished = true;                                   // otherwise cells have pairs and no verdicts
  std::string instructions_unavailable;                   // why instructions were not counted; empty if they were
  std::optional<std::vector<std::string>> gate_refusals;  // with a gate: why it cannot pass; nullopt without one
};

struct AbOutcome {
  AbReport report;
  bool cancelled = false;  // the comparison is unfinished; --resume continues it
};

// Executes, judges and records the comparison, with progress on standard error. Throws InputError if no cell can run,
// or an engine does not understand today's runs.
AbOutcome compare_sides(const AbSide& a, const AbSide& b, const AbOptions& options, AbPurpose purpose,
                        const Installation& installation, Interruption& interruption);

}  // namespace perfbench::harness
