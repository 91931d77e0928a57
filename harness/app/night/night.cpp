#include "harness/app/night/night.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "harness/app/night/night_judgement.h"
#include "harness/evidence/run_directory.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

constexpr const char* kAuthor = "perfbench nightly";
constexpr std::int64_t kControlRepeats = 3;
constexpr const char* kControlName = "control";  // the name for users; the kind of its sweep identifies it
constexpr std::size_t kNightsKept = 60;          // for each matrix

void say(const std::string& line) {
  reports::print(stderr, "{}\n", line);
}

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

// Nights of every matrix whose engines the monthly comparison uses (Night::anchors).
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
  return summary.store_error;
}

// Empty for a shift that a few unlucky nights may explain. The score says nothing about its size, because outlying
// nights are clipped for it.
std::string lasting_text(const ScreenedSeries& series) {
  constexpr std::size_t kLastingNights = 3;
  constexpr double kFarAbove = 2;
  if (!series.shift) return {};
  const auto& shift = *series.shift;
  const auto nights = series.screened.size() - shift.first;
  if (nights >= kLastingNights) return fmt::format("seen on {} nights", nights);
  if (series.series.metric != "step_time_s") return {};  // start-ups and pages jump by themselves now and then
  const double deviations = std::abs(shift.shift_log) / shift.sigma;
  if (deviations < kFarAbove * shift.threshold) return {};
  return fmt::format("{:.0f} times as large as nights deviate", deviations);
}

}  // namespace

fs::path NightOptions::runs_folder() const {
  return harness::runs_folder(ab.runs, ab.db);
}

fs::path NightOptions::archive_folder() const {
  return archive.empty() ? fs::path(ab.db).replace_extension(".engines") : archive;
}

Night::Night(NightOptions options, const Installation& installation, Interruption& interruption)
    : options_(std::move(options)),
      installation_(installation),
      interruption_(interruption),
      catalog_(installation.data_dir()),
      store_(options_.ab.db),
      archive_(options_.archive_folder()),
      sweep_id_(execution_settings(options_.ab.execution, SweepKind::night, {}, installation).sweep_id) {
  report_.sweep_id = sweep_id_;
  report_.started_utc = utc_now();
}

ExecutionSettings Night::settings(const AbSide& side, SweepKind kind) const {
  auto out = execution_settings(options_.ab.execution, kind, options_.runs_folder(), installation_);
  out.launcher.engine = side.engine;
  out.engine_sha256 = engine_sha256(side.engine.file);
  out.launcher.engine_arguments = side.engine_arguments;
  if (kind != SweepKind::control) out.sweep_id = sweep_id_;
  out.only = options_.ab.matrix.only_words();
  return out;
}

void Night::sweep(const PlannedWork& work, const ExecutionSettings& execution) {
  const auto summary = run_planned(work, {.execution = execution}, store_, interruption_);
  cancelled_ = cancelled_ || summary.cancelled;
  if (!summary.store_error.empty()) throw std::runtime_error("[nightly] " + summary.store_error);
  for (const auto& [state, count] : summary.states) {
    const auto cells = static_cast<std::size_t>(count);
    if (state == AttemptState::ok) {
      report_.cells_ok += cells;
    } else if (state == AttemptState::infeasible || state == AttemptState::excluded) {
      report_.cells_not_run += cells;
    } else {
      report_.cells_failed += cells;
    }
  }
}

void Night::measure_control(const PlannedWork& work) {
  if (!options_.control.empty()) archive_.set_control(options_.control);
  auto engine = archive_.control();
  if (!engine) {
    archive_.set_control(installation_.engine);
    engine = archive_.control();
    report_.notes.push_back("Tonight's engine is the control from now on");
  }
  const auto cell = control_cell(work);
  if (!cell) return;
  if (!engine->problem.empty()) {
    report_.not_run.push_back(
        fmt::format("The control did not run: {}; restore it, or name another one with --control", engine->problem));
    return;
  }
  say("the control: " + cell->label);
  const PlannedWork control{.cells = {*cell}, .plans = work.plans};
  const auto execution = settings({.engine = engine->program}, SweepKind::control);
  control_id_ = execution.sweep_id;
  const auto summary = run_planned(control, {.execution = execution}, store_, interruption_);
  cancelled_ = cancelled_ || summary.cancelled;
  if (const auto failed = first_failure(summary)) {
    report_.not_run.push_back("The control did not run, so the drift of the machine is not subtracted: " + *failed);
  }
}

AbSide Night::ordinary_engine() const {
  return {.asked = "tonight's", .engine = {installation_.engine}};
}

AbSide Night::tonight(const std::string& /*cell*/) const {
  return engine_;
}

// Simulated times among measured ones would be compared as nights.
void Night::check_database(Connection& db) const {
  if (!has_sweep_of(db, SweepKind::simulated)) return;
  throw InputError(
      fmt::format("[nightly] {} contains the simulated nights of a demonstration (--history-from simulated): name "
                  "another database with --db",
                  db.path().string()));
}

void Night::measure_cells(const PlannedWork& work) {
  sweep(work, settings(engine_, SweepKind::night));
  if (options_.run_control && !cancelled_) measure_control(work);
}

void Night::measure() {
  // These throw before anything runs if something cannot work.
  options_.ab.rule();
  engine_ = ordinary_engine();
  auto expansion = load_matrix(options_.ab.matrix, catalog_, installation_.data_dir());
  report_.matrix = expansion.name;
  std::erase_if(expansion.cells, [this](const Cell& cell) { return !can_measure(cell); });
  for (auto& cell : expansion.cells) {
    if (options_.repeats > 0) cell.repeats = options_.repeats;
  }
  const auto work = plan_work(std::move(expansion.cells), installation_, catalog_, interruption_.fd());
  check_database(store_.db());  // also opens it, because it is better to report a failure now than after an hour
  archive_.keep(sweep_id_, report_.matrix, engine_.engine.file);
  if (const auto kept = archive_.of_night(sweep_id_)) tonights_libraries_ = kept->program.libraries;
  measure_cells(work);
  archive_.prune(kNightsKept, anchor_nights(load_alerts(store_.db(), AlertScope::all)));
}

void Night::screen() {
  std::vector<TonightCell> tonight;
  std::vector<ScreenedSeries> noisier;
  const auto known = known_shifts(load_alerts(store_.db(), AlertScope::all));
  for (const auto& [metric, share] : kScreenedMetrics) {
    const auto seen = look_at_history(
        store_.db(), {.matrix = report_.matrix, .metric = metric, .night = NightSweeps{sweep_id_, control_id_}}, known,
        options_.budget);
    for (const auto& series : seen.series) {
      if (series.is_control && metric != std::string_view("step_time_s")) continue;
      ++report_.series;
      add_screened(ledger_, metric, series);
      if (series.state == ScreenState::too_few_nights) ++report_.too_few_nights;
      if (series.noisier) noisier.push_back(series);
      if (series.state == ScreenState::shifted) report_.shifted.push_back({metric, series});
      if (!series.is_control) {
        facts_[series.series.cell] = series.nights.back().facts;
        measured_.push_back({.series = series.series,
                             .last_good = series.level_until.value_or(NightId{}),
                             .first_bad = series.nights.back().night});
        if (series.state == ScreenState::too_few_nights) unscreened_.push_back(measured_.back());
      }
      if (!series.finding) continue;
      screened_.push_back(*series.finding);
      if (const auto lasts = lasting_text(series); !lasts.empty()) {
        lasting_[{series.series.cell, series.series.metric}] = lasts;
      }
    }
    // A cell that vanished is missing in every metric.
    if (metric != std::string_view("step_time_s")) continue;
    screened_.insert(screened_.end(), seen.vanished.begin(), seen.vanished.end());
    for (const auto& night : seen.future) report_.notes.push_back(future_night_text(night));
    for (const auto& [cell, nights] : seen.earlier) earlier_[cell.second] = nights;
    note_changes(seen);
    list_cells(seen);
    tonight = seen.tonight;
  }
  noisier_ = noisier_finding(noisier);
  screened_ = without_repeats(std::move(screened_));
  std::erase_if(report_.shifted, [this](const ShiftedSeries& shifted) {
    return std::none_of(screened_.begin(), screened_.end(),
                        [&](const Finding& finding) { return finding.series == shifted.series.series; });
  });
  unscreened_ = that_need_pairs(std::move(unscreened_));
  for (auto& cell : report_.cells) {
    cell.metrics = static_cast<std::size_t>(std::count_if(
        measured_.begin(), measured_.end(), [&](const Finding& series) { return series.series.cell == cell.cell; }));
  }
  note_cells_without_numbers(tonight);
  find_last_good_nights();
}

void Night::note_changes(const HistoryResult& seen) {
  for (const auto& series : seen.series) {
    if (series.changes.empty() || series.changes.back().night.sweep_id != sweep_id_) continue;
    auto note = "Tonight has " + change_text(series.changes.back());
    if (std::find(report_.notes.begin(), report_.notes.end(), note) == report_.notes.end()) {
      report_.notes.push_back(std::move(note));
    }
  }
}

// With their step times, if a previous night used tonight's class of machine.
void Night::list_cells(const HistoryResult& seen) {
  for (const auto& cell : seen.tonight) {
    if (cell.only_planned()) continue;
    auto& listed = report_.cells.emplace_back(NightCell{.cell = cell.cell});
    const auto series = std::find_if(seen.series.begin(), seen.series.end(), [&](const ScreenedSeries& one) {
      return !one.is_control && one.series.cell == cell.cell;
    });
    if (series == seen.series.end()) continue;
    const auto& nights = series->nights;
    listed.tonight_s = nights.back().value;
    if (nights.size() > 1) listed.last_s = nights[nights.size() - 2].value;
    if (series->state != ScreenState::too_few_nights) listed.screened_against = nights.size() - 1;
  }
}

// A failed cell that was measured recently has vanished, which is a finding. A cell that fails every night has no
// history.
void Night::note_cells_without_numbers(const std::vector<TonightCell>& tonight) {
  const auto has = [this](const std::vector<Finding>& findings, const std::string& cell) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& f) { return cell_of(report_.matrix, f) == cell; });
  };
  for (const auto& cell : tonight) {
    if (cell.only_planned() || has(measured_, cell.cell) || has(screened_, cell.cell)) continue;
    report_.unseen.push_back({cell.cell,
                              {},
                              cell.state == "ok" ? "it has none of the screened metrics"
                                                 : "it did not run: " + cell.state + ", " + cell.reason});
  }
}

void Night::raise_alerts(const AlertMessage& message) {
  if (noisier_) report_.findings.push_back({*noisier_, Confirmation::not_needed, noisier_->detail});
  std::vector<Finding> findings;
  for (const auto& finding : report_.findings) {
    if (makes_alert(finding)) findings.push_back(finding.finding);
  }
  std::vector<Alert> fresh;
  const auto alerts = record_findings(db(), findings, kAuthor, utc_now());
  for (const auto& recorded : alerts) {
    const bool news =
        recorded.place.meaning == FindingMeaning::opens || recorded.place.meaning == FindingMeaning::comes_back;
    if (news) fresh.push_back(recorded.alert);
  }
  queue_alerts(db(), fresh, message, utc_now());
  auto live = load_alerts(db(), AlertScope::live);
  std::erase_if(live, [this](const Alert& alert) { return alert.finding.series.matrix != report_.matrix; });
  report_.cells = judge_cells(report_.matrix, std::move(report_.cells), report_.findings, report_.unseen, live);
  report_.live_alerts = group_by_range(live);
  report_.verdict = overall(verdicts_of(report_.findings, report_.not_run, report_.unseen));
  if (options_.exit_by_alerts == ExitByAlerts::yes) {
    auto verdicts = verdicts_of(live);
    verdicts.push_back(report_.verdict);
    report_.verdict = overall(verdicts);
  }
  add_judgement(db(), judgement_of(report_, std::move(ledger_), alerts, utc_now()));
}

}  // namespace perfbench::harness
