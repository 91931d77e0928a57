// A comparison of two sides (harness/ab) as a table for people and as JSON for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/ab/cell_verdict.h"
#include "harness/ab/comparison_ledger.h"
#include "reports/format/markdown_text.h"

namespace perfbench::reports {

struct AbReport {
  harness::ComparisonRecord comparison;
  std::vector<harness::CellVerdict> cells;
  std::string instructions_unavailable;  // why there are none; empty where they were counted
  std::optional<std::vector<std::string>>
      gate_refusals;  // of a gate: why it cannot pass; absent: no gate was asked for
};

// Markdown: who was compared, a row per cell and metric, what each verdict rests on, what was discarded and why.
Markdown ab_markdown(const AbReport& report);
std::string ab_json(const AbReport& report);

// "passed", "failed" (something regressed) or "refused".
std::string gate_outcome(const AbReport& report);

}  // namespace perfbench::reports
