// Two sides compared over a matrix, from the words of a person to the report: what compare --ab, bisect and nightly
// share.
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

// What a comparison came to, for whoever shows it.
struct AbReport {
  ComparisonRecord comparison;
  std::vector<CellVerdict> cells;
  bool finished = true;                  // else cells have pairs and no verdicts
  std::string instructions_unavailable;  // why there are none; empty where they were counted
  std::optional<std::vector<std::string>>
      gate_refusals;  // of a gate: why it cannot pass; absent: no gate was asked for
};

struct AbOutcome {
  AbReport report;
  bool cancelled = false;  // the comparison is unfinished; --resume goes on with it
};

// Executes, judges and records; progress goes to standard error. Throws InputError when no cell can run, or an engine
// does not understand today's runs.
AbOutcome compare_sides(const AbSide& a, const AbSide& b, const AbOptions& options, AbPurpose purpose,
                        const Installation& installation, Interruption& interruption);

}  // namespace perfbench::harness
