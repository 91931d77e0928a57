// Compares cells with a baseline: finds each cell's counterpart, checks whether the two are comparable, and decides.
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
  Subject subject = {};           // subject of the cell
  std::string machine = {};       // fingerprint of the cell's machine; empty: unknown
  bool is_of_baseline = false;    // the baseline has runs of this cell, possibly from another machine
  double margin_fraction = 0;     // smaller differences do not matter
  std::optional<double> current;  // medians over the runs that were used
  std::optional<double> baseline;
  Decision decision;
  std::vector<std::string> notes;  // other differences between the two sides
};

// For a baseline of stored runs; `scope` is its name in messages. The counterpart of a cell is the baseline's run with
// the same run id. A single run that was named itself (run:ID, attempt:ID/N) is the counterpart of every cell. Attempts
// that are current are left out of the baseline. If `absent` says so, cells of the same matrix that the baseline has
// and `current` lacks get rows, too: INCONCLUSIVE, vanished. A cell that diverged now but not in the baseline is
// REGRESSED in every metric. The baseline's runs of a cell on one machine have one subject (cell_runs.h).
enum class AbsentCells { passed_over, reported };
struct RunBaseline {
  std::string scope;
  std::vector<CellRuns> cells;
  bool for_every_cell = false;
  AbsentCells absent = AbsentCells::passed_over;
};
// A metric that varies between sessions is decided with the differences between other sessions of the cell on the same
// machine, which `known` contains (between_sessions.h). If these are not known, or the sides used two machines, a cell
// of another session is INCONCLUSIVE, with the command that decides.
std::vector<CellComparison> compare_with_runs(const std::vector<CellRuns>& current, const RunBaseline& baseline,
                                              const std::string& metric, const SessionLevels& known = {});

// For a baseline of numbers from outside: a cell's counterpart is the values of its run id, or else of its label.
// Several values count as runs of a separate session. A single value counts as a constant, and a note says what the
// verdict does not know.
std::vector<CellComparison> compare_with_values(const std::vector<CellRuns>& current, const Baseline& baseline,
                                                const std::string& metric, const SessionLevels& known = {});

// The note about runs that were compared with a constant. nullopt for metrics that do not vary between sessions.
std::optional<std::string> constant_note(const CellRuns& cell, const std::string& metric);

// The decisions that a test made, for control_false_discoveries() over all cells and metrics of one comparison.
std::vector<Decision*> tested_decisions(std::vector<CellComparison>& comparisons);

// For overall(): a cell of the baseline that cannot be compared with it is undecided. A new cell, and a cell that was
// compared with another run, do not count if other cells can be compared.
std::vector<Verdict> verdicts_of(const std::vector<CellComparison>& comparisons);

}  // namespace perfbench::harness
