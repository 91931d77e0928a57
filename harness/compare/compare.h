// Cells against a baseline: finds each cell's counterpart, asks whether the two are comparable, and decides.
#pragma once

#include <array>
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
  std::string machine = {};       // fingerprint of where the cell ran; empty: unknown
  std::optional<double> current;  // medians over the runs used
  std::optional<double> baseline;
  Decision decision;
  std::vector<std::string> notes;  // what else differs between the two sides
};

// Runs of one's own history. `scope` names the baseline in messages. A cell's counterpart is the baseline's run with
// the same run id; a single run that was named itself (run:ID, attempt:ID/N) is that of every cell. Attempts that are
// current are left out of the baseline. Cells of the same matrix that the baseline has and `current` has not are rows
// too, where `absent` asks for them: INCONCLUSIVE, vanished. A cell that diverged, which the baseline has whole, is
// REGRESSED in every metric.
enum class AbsentCells { passed_over, reported };
struct RunBaseline {
  std::string scope;
  std::vector<CellRuns> cells;
  bool for_every_cell = false;
  AbsentCells absent = AbsentCells::passed_over;
};
// A metric that varies between sessions is decided by how far `known` says that other sessions of the cell on the same
// machine differ (between_sessions.h). Where that is not known, or the sides are of two machines, a cell of another
// session is INCONCLUSIVE, with the command that decides.
std::vector<CellComparison> compare_with_runs(const std::vector<CellRuns>& current, const RunBaseline& baseline,
                                              const std::string& metric, const SessionLevels& known = {});

// Numbers from elsewhere: a cell's counterpart is the values of its run id, or else of its label. Several values are
// runs of a session of their own. One is taken for a constant, and a note says what the verdict does not know.
std::vector<CellComparison> compare_with_values(const std::vector<CellRuns>& current, const Baseline& baseline,
                                                const std::string& metric, const SessionLevels& known = {});

// Said of runs that were held against a constant. Nothing for metrics that do not vary between sessions.
std::optional<std::string> constant_note(const CellRuns& cell, const std::string& metric);

// Direction (of the metric catalog) and margin of a metric: 2 % of a time or a rate, 10 % of the start-up, 1 % of
// memory, 0.2 % of the loss (rounding in another order moves that of a short run by far less), 0.5 % of what an
// evaluation finds. Throws InputError for anything else, such as warmup_steps.
DecisionRule rule_for(const std::string& metric);

// What a gate holds together: speed, memory, start-up and loss, and of runs that evaluate what that found.
inline constexpr std::array kGateMetrics{"step_time_s", "peak_memory_bytes", "startup_time_s",
                                         "final_loss",  "eval_accuracy",     "eval_perplexity"};

// Over all cells and metrics of one comparison: a significant difference that does not survive Benjamini-Hochberg at
// the rule's alpha becomes INCONCLUSIVE. Comparisons without a p count for nothing.
void control_false_discoveries(std::vector<CellComparison>& comparisons);

// All verdicts as one: regressed before inconclusive before fine. Where nothing was comparable it is inconclusive.
Verdict overall(const std::vector<CellComparison>& comparisons);

}  // namespace perfbench::harness
