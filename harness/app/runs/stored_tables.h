// Runs of a database with the data files that explain them, for report, compare and sweep.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/app/runs/against.h"
#include "harness/judge/cell_mfu.h"
#include "harness/judge/cell_runs.h"
#include "harness/judge/compare.h"
#include "harness/matrix/published.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "workloads/spec/flops.h"

namespace perfbench::harness {

// The cells of a selection (choose_attempts), each with one run and one subject.
struct StoredCells {
  std::vector<CellRuns> cells;  // never empty
  std::string left_out;         // left_out_text()
};
// Throws InputError if no attempt is left.
StoredCells stored_cells(const Connection& db, const std::string& selection);

// The data files of the hardware that the runs name. Hardware without a file is left out.
HardwareByName hardware_of(const std::vector<CellRuns>& cells, const Installation& installation);
HardwareByName hardware_of(const std::vector<StoredAttempt>& attempts, const Installation& installation);

// Runs and their comparison with a baseline.
struct ComparedCells {
  AgainstRequest request;                   // with the sessions of the store
  std::vector<CellRuns> cells;              // split by machine
  HardwareByName hardware;                  // as StoredTable has it
  std::vector<CellComparison> comparisons;  // a whole sweep adds those of cells that only the baseline has
  std::optional<PublishedEntry> published;  // set if the baseline is a published row
};
// `selected` is the selection of the cells. A sweep is whole if it ran all cells of its matrix: a cell that `--only` or
// a subject left out has not vanished.
ComparedCells compare_cells(const Connection& db, const std::vector<CellRuns>& cells, const Selection& selected,
                            AgainstRequest request, const Installation& installation);

// Selects the runs of a report.
struct TableQuery {
  std::string selection = "latest";        // parse_selection of harness/store/queries/query.h
  std::vector<std::string> matrices = {};  // instead: the newest sweep of each of these matrices; * globs
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
  std::string baseline = {};  // empty: no comparison
};

// The runs of one sweep, or of one selection, and their baseline.
struct StoredTable {
  std::string title;
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
  std::string baseline;                     // its name; empty: not compared
  std::vector<CellRuns> cells;              // never empty
  std::vector<CellComparison> comparisons;  // at most one for each cell, in any order; and those of vanished cells
  HardwareByName hardware;                  // by the names that the runs use, without "host"
  std::optional<PublishedEntry> published;  // the row, if the baseline is a published one
  std::string left_out;                     // left_out_text(), and the names of vanished cells
};

// Newest first. Throws InputError if the selection has no attempt, or the database has no sweep of a matrix.
std::vector<StoredTable> stored_tables(const Connection& db, const TableQuery& query, const Installation& installation);

}  // namespace perfbench::harness
