#include "harness/app/sweep/planned_sweep.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <utility>

#include "harness/app/sweep/checks.h"
#include "harness/matrix/yaml_document.h"
#include "harness/plan/planner.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "harness/store/queries/running_sweeps.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

YamlDocument load_file(const MatrixOptions& options, const std::filesystem::path& data_dir) {
  if (!options.text.empty()) return YamlDocument::parse(options.text, "run", "command line");
  return YamlDocument::load(matrix_file(options.file, data_dir), "matrix");
}

}  // namespace

std::filesystem::path matrix_file(const std::filesystem::path& asked, const std::filesystem::path& data_dir) {
  const auto named = data_dir / "matrices" / (asked.string() + ".yaml");
  for (const auto& file : {asked, data_dir / asked, named}) {
    if (std::filesystem::exists(file)) return file;
  }
  return asked;
}

std::string MatrixOptions::only_words() const {
  return fmt::format("{}", fmt::join(overrides.only, " "));
}

SweepWords MatrixOptions::words() const {
  SweepWords out{.only = overrides.only, .set = overrides.set};
  // A file is found again from any folder.
  const bool is_file = program.program.find('/') != std::string::npos || std::filesystem::exists(program.program);
  if (is_file) out.program = {std::filesystem::weakly_canonical(program.program).string()};
  if (!is_file && !program.program.empty()) out.program = {program.program};
  if (!program.repo.empty()) out.program_repo = {std::filesystem::weakly_canonical(program.repo).string()};
  return out;
}

std::string matrix_name(const MatrixOptions& options, const std::filesystem::path& data_dir) {
  return name_of(load_file(options, data_dir));
}

Expansion expand_matrix(const MatrixOptions& options, const ModelCatalog& catalog,
                        const std::filesystem::path& data_dir) {
  auto out = expand(load_file(options, data_dir), catalog, options.overrides);
  if (!options.program.program.empty()) run_with_program(out, options.program, data_dir);
  return out;
}

Expansion load_matrix(const MatrixOptions& options, const ModelCatalog& catalog,
                      const std::filesystem::path& data_dir) {
  auto expansion = expand_matrix(options, catalog, data_dir);
  for (const auto& notice : expansion.notices) reports::print(stderr, "note: {}\n", notice);
  return expansion;
}

std::string SweepStore::ingest(const std::filesystem::path& attempt_dir) {
  const auto outcome = ingest_run_directory(db(), attempt_dir);
  if (!outcome.trace_problem.empty()) reports::print(stderr, "{} (stored without its trace)\n", outcome.trace_problem);
  return outcome.spoiled ? outcome.damage : std::string();
}

Connection& SweepStore::db() {
  if (!db_) db_.emplace(open_database(path_));
  return *db_;
}

PlannedWork plan_work(std::vector<Cell> cells, const Installation& installation, const ModelCatalog& catalog,
                      int cancel_fd, RunsWhere where) {
  PlannedWork work;
  RunnableCheck here({installation.engine}, cancel_fd);
  for (auto& planned :
       plan_cells(std::move(cells), {.engine = {installation.engine}, .catalog = &catalog, .cancel_fd = cancel_fd})) {
    CellPlan plan;
    if (planned.state == PlanState::infeasible) plan.infeasible = planned.reason;
    if (planned.state == PlanState::feasible) plan.infeasible = why_launch_file(planned.cell, where);
    const bool is_checked = planned.cell.run.program == nullptr && where == RunsWhere::here;
    if (planned.state == PlanState::feasible && is_checked) plan.infeasible = here.obstacle(planned);
    if (planned.counts) {
      const auto& flops = planned.counts->flops;
      const auto& run = planned.cell.run;
      plan.work = static_cast<double>(flops.executed_flops()) *
                  static_cast<double>((run.steps + run.trace_steps) * run.mesh.devices());
    }
    work.plans[planned.cell.run_id] = plan;
    work.cells.push_back(std::move(planned.cell));
  }
  return work;
}

namespace {

// The progress of a sweep in its database, until the sweep ends. A failed write is no failure of the sweep, which tries
// to store its results there and tells if that fails.
class ShownProgress {
 public:
  explicit ShownProgress(SweepStore& store) : store_(store) {}
  ShownProgress(const ShownProgress&) = delete;
  ShownProgress& operator=(const ShownProgress&) = delete;
  ~ShownProgress() {
    if (!sweep_id_.empty()) write([this] { forget_running(store_.db(), sweep_id_); });
  }

  void show(const RunningSweep& sign) {
    sweep_id_ = sign.sweep_id;
    write([&] { record_running(store_.db(), sign); });
  }

 private:
  template <class F>
  static void write(const F& change) {
    try {
      change();
    } catch (const std::exception&) {
    }
  }

  SweepStore& store_;
  std::string sweep_id_;
};

}  // namespace

SweepSummary run_planned(const PlannedWork& work, const SweepOptions& options, SweepStore& store,
                         Interruption& interruption, std::function<ResumedSweep()> resumed) {
  ShownProgress running(store);
  const SweepHooks hooks{
      .plan = [&work](const Cell& cell) { return work.plans.at(cell.run_id); },
      .store = [&store](const std::filesystem::path& dir) { return store.ingest(dir); },
      .stored = [&store](const std::string& sweep, const std::string& run,
                         AttemptState state) { return count_attempts(store.db(), sweep, run, state); },
      .resumed = std::move(resumed),
      .progressed = [&running](const RunningSweep& sign) { running.show(sign); }};
  return run_sweep(work.cells, options, hooks, interruption);
}

}  // namespace perfbench::harness
