// The request for a matrix, which all use cases that read one share.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/evidence/attempt.h"
#include "harness/execute/sweep.h"
#include "harness/matrix/matrix.h"
#include "harness/matrix/model_catalog.h"
#include "harness/matrix/program_cells.h"
#include "harness/store/database.h"

namespace perfbench::harness {

struct MatrixOptions {
  std::filesystem::path file;
  std::string text = {};  // the matrix itself, made from a command line; empty: it is in the file
  Overrides overrides;
  ProgramChoice program = {};  // without a name: perfbench-engine, or the program of the matrix

  std::string only_words() const;  // AttemptRecord::only
  SweepWords words() const;
};

// Returns the file of a matrix: `asked` if it exists, and otherwise the file of that path or name in `data_dir`.
// Returns `asked` if neither exists.
std::filesystem::path matrix_file(const std::filesystem::path& asked, const std::filesystem::path& data_dir);

// The name that the file gives its matrix. Throws InputError, as do the next two.
std::string matrix_name(const MatrixOptions& options, const std::filesystem::path& data_dir);

// Expands the file. A file that does not exist here may be a matrix of `data_dir`, by its path or by its name: an
// installed perfbench knows matrices/quickstart.yaml and quickstart from anywhere. The cells run the program of
// `options`.
Expansion expand_matrix(const MatrixOptions& options, const ModelCatalog& catalog,
                        const std::filesystem::path& data_dir);

// The same, and prints the notices to standard error.
Expansion load_matrix(const MatrixOptions& options, const ModelCatalog& catalog, const std::filesystem::path& data_dir);

// Planned cells and the store behind them, for both sweep and nightly. SweepStore is the store behind a sweep. It is
// opened at each use until that succeeds, so that a database that cannot be written is recorded as a problem and does
// not end the sweep.
class SweepStore {
 public:
  explicit SweepStore(std::filesystem::path path) : path_(std::move(path)) {}

  // The same as SweepHooks::store.
  std::string ingest(const std::filesystem::path& attempt_dir);
  Connection& db();

 private:
  std::filesystem::path path_;
  std::optional<Connection> db_;
};

struct PlannedWork {
  std::vector<Cell> cells;
  std::map<std::string, CellPlan> plans;  // by run id

  bool can_run(const Cell& cell) const { return !cell.excluded && !plans.at(cell.run_id).infeasible; }
};

// Uses the engine of `installation`. Throws Cancelled once a byte can be read from `cancel_fd`.
PlannedWork plan_work(std::vector<Cell> cells, const Installation& installation, const ModelCatalog& catalog,
                      int cancel_fd, RunsWhere where = RunsWhere::here);

// `resumed` is SweepHooks::resumed.
SweepSummary run_planned(const PlannedWork& work, const SweepOptions& options, SweepStore& store,
                         Interruption& interruption, std::function<ResumedSweep()> resumed = {});

}  // namespace perfbench::harness
