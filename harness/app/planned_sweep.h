// Cells with what the planner says of them, and the store behind them: what sweep and nightly share.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/app/installation.h"
#include "harness/matrix/model_catalog.h"
#include "harness/run/sweep.h"
#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

// The store behind a sweep. Opened at each use until it succeeds, so that a database which cannot be written is a
// finding of the sweep and not its end.
class SweepStore {
 public:
  explicit SweepStore(std::filesystem::path path) : path_(std::move(path)) {}

  // Returns what SweepHooks::store does.
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

// By the engine of `installation`. Throws Cancelled once a byte can be read from `cancel_fd`.
PlannedWork plan_work(std::vector<Cell> cells, const Installation& installation, const ModelCatalog& catalog,
                      int cancel_fd);

// `resumed` is SweepHooks::resumed.
SweepSummary run_planned(const PlannedWork& work, const SweepOptions& options, SweepStore& store,
                         Interruption& interruption, std::function<ResumedSweep()> resumed = {});

}  // namespace perfbench::harness
