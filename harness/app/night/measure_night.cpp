// The first part of a night: every cell of the matrix, and the control.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "harness/app/night/night.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "reports/render/format/print.h"
#include "workloads/spec/run_program.h"

namespace perfbench::harness {
namespace {

constexpr std::int64_t kControlRepeats = 3;
constexpr const char* kControlName = "control";  // the name for users; the kind of its sweep identifies it
constexpr std::size_t kNightsKept = 60;          // for each matrix

// The cell with the least work, as the matrix of the control.
std::optional<Cell> control_cell(const PlannedWork& work) {
  const Cell* least = nullptr;
  for (const auto& cell : work.cells) {
    if (!work.can_run(cell)) continue;
    if (least == nullptr || work.plans.at(cell.run_id).work < work.plans.at(least->run_id).work) least = &cell;
  }
  if (least == nullptr) return std::nullopt;
  auto cell = *least;
  cell.matrix = kControlName;
  cell.repeats = std::max(cell.repeats, kControlRepeats);
  return cell;
}

// Nights of every matrix whose engines the monthly comparison uses (anchors in creep_check.cpp).
std::set<std::string> anchor_nights(const std::vector<Alert>& alerts) {
  std::set<std::string> matrices;
  for (const auto& alert : alerts) matrices.insert(alert.finding.series.matrix);
  std::set<std::string> out;
  for (const auto& matrix : matrices) {
    for (const auto& [series, night] : newest_improvements(alerts, matrix)) out.insert(night.sweep_id);
  }
  return out;
}

// The first attempt that did not end as expected.
std::optional<std::string> first_failure(const SweepSummary& summary) {
  if (summary.all_fine()) return std::nullopt;
  for (const auto& attempt : summary.attempts) {
    const auto& record = attempt.record;
    if (record.state != AttemptState::ok) return fmt::format("{} ({})", spec::enum_name(record.state), record.reason);
  }
  return summary.remote_end.empty() ? summary.store_error : summary.remote_end;
}

// Simulated times among measured ones would be compared as nights.
void refuse_made_up_nights(Connection& db) {
  if (!has_sweep_of(db, SweepKind::simulated)) return;
  throw InputError(
      fmt::format("[nightly] {} contains the simulated nights of a demonstration (--history-from simulated): name "
                  "another database with --db",
                  db.path().string()));
}

// A training program changes with its own commits, and says nothing about the machine. Its nights have a cell of an
// installed matrix as their control.
PlannedWork control_work(Night& night, const PlannedWork& work, const Measured& measured) {
  if (!measured.runs_program) return work;
  const auto data = night.installation.data_dir();
  auto cells = expand_matrix({.file = data / "matrices" / "quickstart.yaml"}, night.catalog, data).cells;
  return plan_work(std::move(cells), night.installation, night.catalog, night.interruption.fd(), night.where());
}

void measure_control(Night& night, const PlannedWork& work, Measured& out) {
  if (!night.options.control.empty()) night.archive.set_control(night.options.control);
  auto engine = night.archive.control();
  if (!engine) {
    night.archive.set_control(night.installation.engine);
    engine = night.archive.control();
    out.notes.push_back("Tonight's engine is the control from now on");
  }
  const auto cell = control_cell(work);
  if (!cell) return;
  if (!engine->problem.empty()) {
    out.not_run.push_back(
        fmt::format("The control did not run: {}; restore it, or name another one with --control", engine->problem));
    return;
  }
  reports::print(stderr, "the control: {}\n", cell->label);
  const PlannedWork control{.cells = {*cell}, .plans = work.plans};
  const auto execution = night_settings(night, {.engine = engine->program}, SweepKind::control);
  out.control_id = execution.sweep_id;
  const auto summary = run_planned(control, {.execution = execution}, night.store, night.interruption);
  out.cancelled = out.cancelled || summary.cancelled;
  if (const auto failed = first_failure(summary)) {
    out.not_run.push_back("The control did not run, so the drift of the machine is not subtracted: " + *failed);
  }
}

}  // namespace

const AbSide& Measured::engine_of(const std::string& cell) const {
  const auto other = other_engines.find(cell);
  return other == other_engines.end() ? engine : other->second;
}

ExecutionSettings night_settings(const Night& night, const AbSide& side, SweepKind kind) {
  const auto& options = night.options;
  auto out = execution_settings(options.ab.execution, kind, options.runs_folder(), night.installation);
  out.launcher.engine = side.engine;
  out.engine_sha256 = engine_sha256(side.engine.file);
  out.launcher.engine_arguments = side.engine_arguments;
  if (kind != SweepKind::control) out.sweep_id = night.sweep_id;
  out.only = options.ab.matrix.only_words();
  return out;
}

void run_cells(Night& night, const PlannedWork& work, const ExecutionSettings& execution, Measured& out) {
  const auto summary = run_planned(work, {.execution = execution}, night.store, night.interruption);
  out.cancelled = out.cancelled || summary.cancelled;
  if (!summary.store_error.empty()) throw std::runtime_error("[nightly] " + summary.store_error);
  if (!summary.remote_end.empty()) throw RemoteEnd(summary.remote_end);
  for (const auto& [state, count] : summary.states) {
    const auto cells = static_cast<std::size_t>(count);
    if (state == AttemptState::ok) {
      out.cells_ok += cells;
    } else if (state == AttemptState::infeasible || state == AttemptState::excluded) {
      out.cells_not_run += cells;
    } else {
      out.cells_failed += cells;
    }
  }
}

PlannedWork plan_night(Night& night, const std::function<bool(const Cell&)>& can_measure, Measured& out) {
  const auto& options = night.options;
  options.ab.rule();  // throws if something cannot work
  auto expansion = load_matrix(options.ab.matrix, night.catalog, night.installation.data_dir());
  out.matrix = expansion.name;
  if (const auto* const cell = program_cell(expansion.cells)) {
    out.runs_program = true;
    out.screened = screened_metrics(&cell->run.program->spec);
  }
  std::erase_if(expansion.cells, [&](const Cell& cell) { return !can_measure(cell); });
  for (auto& cell : expansion.cells) {
    if (options.repeats > 0) cell.repeats = options.repeats;
  }
  return plan_work(std::move(expansion.cells), night.installation, night.catalog, night.interruption.fd(),
                   night.where());
}

void keep_engine(Night& night, Measured& out) {
  night.archive.keep(night.sweep_id, out.matrix, out.engine.engine.file);
  if (const auto kept = night.archive.of_night(night.sweep_id)) out.libraries = kept->program.libraries;
}

void remove_old_engines(Night& night) {
  night.archive.prune(kNightsKept, anchor_nights(load_alerts(night.store.db(), AlertScope::all)));
}

Measured measure(Night& night) {
  Measured out{.engine = {.asked = "tonight's", .engine = {night.installation.engine}}};
  const auto work = plan_night(
      night, [](const Cell&) { return true; }, out);
  refuse_made_up_nights(
      night.store.db());  // also opens it, because it is better to report a failure now than after an hour
  // Planned now: what cannot be read must not end a night whose cells have run.
  const auto of_control = night.options.run_control ? control_work(night, work, out) : PlannedWork();
  keep_engine(night, out);
  run_cells(night, work, night_settings(night, out.engine, SweepKind::night), out);
  if (night.options.run_control && !out.cancelled) measure_control(night, of_control, out);
  remove_old_engines(night);
  return out;
}

}  // namespace perfbench::harness
