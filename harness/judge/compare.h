// Cells against a baseline: finds each cell's counterpart, asks whether the two are comparable, and decides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_runs.h"
#include "harness/records/baseline.h"
#include "harness/stats/decision.h"

namespace perfbench::harness {

struct CellComparison {
  std::string run_id;
  std::string label;
  std::string metric;
  Subject subject = {};           // of the cell
  std::string machine = {};       // fingerprint of where the cell ran; empty: unknown
  bool is_of_baseline = false;    // the baseline has runs of this cell, though perhaps of another machine
  std::optional<double> current;  // medians over the runs used
  std::optional<double> baseline;
  Decision decision;
  std::vector<std::string> notes;  // what else differs between the two sides
};

// Runs of one's own history. `scope` names the baseline in messages. A cell's counterpart is the baseline's run with
// the same run id; a single run that was named itself (run:ID, attempt:ID/N) is that of every cell. Attempts that are
// current are left out of the baseline. Cells of the same matrix that the baseline has and `current` has not are rows
// too, where `absent` asks for them: INCONCLUSIVE, vanished. A cell that diverged, which the baseline has whole, is
// REGRESSED in every metric. The baseline's runs of a cell on one machine are of one subject (cell_runs.h).
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

// Those that a test decided, for control_false_discoveries() over all cells and metrics of one comparison.
std::vector<Decision*> tested_decisions(std::vector<CellComparison>& comparisons);

// For overall(): a cell of the baseline that cannot be compared with it is undecided. A new cell, and one that was held
// against the run of another, say nothing beside those that can be compared.
std::vector<Verdict> verdicts_of(const std::vector<CellComparison>& comparisons);

}  // namespace perfbench::harness
