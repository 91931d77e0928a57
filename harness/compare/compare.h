// Cells against a baseline: finds each cell's counterpart, asks whether the two are comparable, and decides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/compare/cell_runs.h"
#include "harness/compare/decision.h"
#include "harness/store/baseline_ledger.h"

namespace perfbench::harness {

struct CellComparison {
  std::string run_id;
  std::string label;
  std::string metric;
  std::optional<double> current;  // medians over the runs used
  std::optional<double> baseline;
  Decision decision;
  std::vector<std::string> notes;  // what else differs between the two sides
};

// Runs of one's own history. `scope` names the baseline in messages. A cell's counterpart is the baseline's run with
// the same run id; a single run that was named itself (run:ID, attempt:ID/N) is that of every cell. Attempts that are
// current are left out of the baseline.
struct RunBaseline {
  std::string scope;
  std::vector<CellRuns> cells;
  bool for_every_cell = false;
};
std::vector<CellComparison> compare_with_runs(const std::vector<CellRuns>& current, const RunBaseline& baseline,
                                              const std::string& metric);

// Numbers from elsewhere: a cell's counterpart is the values of its run id, or else of its label.
std::vector<CellComparison> compare_with_values(const std::vector<CellRuns>& current, const Baseline& baseline,
                                                const std::string& metric);

// Direction (of the metric catalog) and margin of a metric: 2 % of a time or a rate, 1 % of memory. Throws InputError
// for anything else, such as warmup_steps.
DecisionRule rule_for(const std::string& metric);

// All verdicts as one: regressed before inconclusive before fine. Where nothing was comparable it is inconclusive.
Verdict overall(const std::vector<CellComparison>& comparisons);

}  // namespace perfbench::harness
