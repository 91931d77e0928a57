#include "harness/cli/night.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <string_view>
#include <utility>

#include "harness/alerts/alert_ledger.h"
#include "harness/cli/ab_comparison.h"
#include "harness/compare/baseline_findings.h"
#include "harness/input_error.h"
#include "harness/nightly/simulated_nights.h"
#include "harness/run/run_directory.h"
#include "harness/run/utc.h"
#include "reports/format/print.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// Speed, memory, start-up and loss. Rates say again what times say.
constexpr std::array kScreened{"step_time_s", "peak_memory_bytes", "resident_bytes", "startup_time_s", "final_loss"};
constexpr std::int64_t kControlRepeats = 3;
constexpr const char* kControlName = "control";  // as people see it: what it is, the kind of its sweep says
// A demonstration's engine tells its times by its own work, so that it shows the same beside whatever else is running.
constexpr const char* kDemonstrationClock = "work_clock";
constexpr SpoilRule kNothingSpoils{
    .most_probe_spread = 1e9, .most_probe_shift = 1e9, .most_steal = 1e9, .most_foreign = 1e9};
constexpr std::size_t kNightsKept = 60;  // of each matrix

void say(const std::string& line) {
  reports::print(stderr, "{}\n", line);
}

bool can_run(const PlannedWork& work, const Cell& cell) {
  return !cell.excluded && !work.plans.at(cell.run_id).infeasible;
}

// The cell that takes the least work, as the matrix of the control.
std::optional<Cell> control_cell(const PlannedWork& work) {
  const Cell* least = nullptr;
  for (const auto& cell : work.cells) {
    if (!can_run(work, cell)) continue;
    if (least == nullptr || work.plans.at(cell.run_id).work < work.plans.at(least->run_id).work) least = &cell;
  }
  if (least == nullptr) return std::nullopt;
  auto cell = *least;
  cell.matrix = kControlName;
  cell.repeats = std::max(cell.repeats, kControlRepeats);
  return cell;
}

PlannedWork only(const PlannedWork& work, const std::function<bool(const Cell&)>& wanted) {
  PlannedWork out{.plans = work.plans};
  std::copy_if(work.cells.begin(), work.cells.end(), std::back_inserter(out.cells), wanted);
  return out;
}

// Of the first attempt that did not end as it should.
std::optional<std::string> first_failure(const SweepSummary& summary) {
  if (summary.all_fine()) return std::nullopt;
  for (const auto& attempt : summary.attempts) {
    const auto& record = attempt.record;
    if (record.state != AttemptState::ok) return fmt::format("{} ({})", spec::enum_name(record.state), record.reason);
  }
  return summary.store_error;
}

// Nights may begin in one second: where the other one is among them, their order counts.
bool is_not_before(const std::vector<NightPoint>& nights, const NightPoint& night, const AlertNight& other) {
  const auto found = std::find_if(nights.begin(), nights.end(),
                                  [&](const NightPoint& point) { return point.night.sweep_id == other.sweep_id; });
  if (found == nights.end()) return night.night.started_utc >= other.started_utc;
  return &night >= &*found;
}

void hold_against(AlertFinding& series, const AlertNight& good) {
  series.last_good = good;
  series.detail =
      "too few nights on this class of machine: held against the engine of " + good.started_utc.substr(0, 10);
}

bool same_file(const fs::path& a, const fs::path& b) {
  const auto bytes = read_file(a);
  return bytes && bytes == read_file(b);
}

}  // namespace

fs::path NightOptions::runs_folder() const {
  return ab.runs.empty() ? fs::path(ab.db).replace_extension(".runs") : ab.runs;
}

fs::path NightOptions::archive_folder() const {
  return archive.empty() ? fs::path(ab.db).replace_extension(".engines") : archive;
}

Night::Night(NightOptions options, const CommandContext& context, Interruption& interruption)
    : options_(std::move(options)),
      context_(context),
      interruption_(interruption),
      catalog_(context.data_dir()),
      store_(options_.ab.db),
      archive_(options_.archive_folder()),
      sweep_id_(execution_settings(options_.ab.execution, SweepKind::night, {}, context).sweep_id) {
  report_.sweep_id = sweep_id_;
  report_.started_utc = utc_now();
}

ExecutionSettings Night::settings(const AbSide& side, SweepKind kind) const {
  auto out = execution_settings(options_.ab.execution, kind, options_.runs_folder(), context_);
  out.launcher.engine = side.engine;
  out.engine_sha256 = engine_sha256(side.engine.file);
  out.launcher.engine_arguments = side.engine_arguments;
  if (kind != SweepKind::control) out.sweep_id = sweep_id_;
  out.selection = options_.ab.matrix.selection();
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

// Nights before tonight made of clean runs of every cell: nothing of it is measured on those days, and every record
// says so.
void Night::simulate_history(const PlannedWork& work) {
  say("clean runs of every cell, of which earlier nights are simulated");
  const auto base = fs::path(options_.ab.db).replace_extension(".base.runs");
  auto execution = settings(engine_, SweepKind::simulated);
  execution.runs = base;
  const SweepHooks hooks{
      .plan = [&work](const Cell& cell) { return work.plans.at(cell.run_id); },
      .store = [](const fs::path&) { return std::string(); },
      .stored = [](const std::string&, const std::string&, AttemptState) { return std::int64_t{0}; }};
  const auto summary = run_sweep(work.cells, {.execution = execution}, hooks, interruption_);
  cancelled_ = cancelled_ || summary.cancelled;
  std::vector<fs::path> folders;
  for (const auto& attempt : summary.attempts) folders.push_back(attempt.directory);
  const SimulatedNights how{.sweep_prefix = "simulated-" + sweep_id_ + "-"};
  std::string night;
  for (const auto& folder : write_simulated_nights(folders, options_.runs_folder(), how)) {
    const auto attempt = read_attempt(folder);
    if (std::exchange(night, attempt->sweep_id) != attempt->sweep_id) {
      archive_.keep(night, attempt->matrix, engine_.engine.file);
    }
    store_.ingest(folder);
  }
  fs::remove_all(base);
  report_.notes.push_back(
      "This is a demonstration: every time in it is of a clock that the engine's own work turns, not the machine's");
  report_.notes.push_back(fmt::format("The {} nights before are simulated from runs of a moment ago", how.nights));
}

void Night::measure_with_planted_fault(const PlannedWork& work) {
  const auto planted = std::find_if(work.cells.begin(), work.cells.end(), [&](const Cell& cell) {
    return can_run(work, cell) && cell.run.device == spec::Device::cpu;
  });
  if (planted == work.cells.end()) throw InputError("[nightly] no cell of the matrix can run here on a CPU");
  planted_cell_ = planted->label;
  report_.notes.push_back(
      fmt::format("Planted tonight: {} in {}", options_.fault, planted->label.empty() ? "(defaults)" : planted->label));
  const auto is_planted = [this](const Cell& cell) { return cell.label == planted_cell_; };
  sweep(only(work, [&](const Cell& cell) { return !is_planted(cell); }), settings(engine_, SweepKind::simulated));
  sweep(only(work, is_planted), settings(tonight(planted->label), SweepKind::simulated));
}

AbSide Night::tonight(const std::string& cell) const {
  if (planted_cell_ == cell) return faulty_side({kDemonstrationClock, options_.fault}, context_.engine);
  return engine_;
}

void Night::measure_control(const PlannedWork& work) {
  if (!options_.control.empty()) archive_.set_control(options_.control);
  auto engine = archive_.control();
  if (!engine) {
    archive_.set_control(context_.engine);
    engine = archive_.control();
    report_.notes.push_back("Tonight's engine is the control from now on");
  }
  const auto cell = control_cell(work);
  if (!cell) return;
  if (!engine->problem.empty()) {
    report_.not_run.push_back(
        fmt::format("The control did not run: {}; restore it, or name another with --control", engine->problem));
    return;
  }
  say("the control: " + cell->label);
  const PlannedWork control{.cells = {*cell}, .plans = work.plans};
  const auto execution = settings({.engine = engine->program}, SweepKind::control);
  control_id_ = execution.sweep_id;
  const auto summary = run_planned(control, {.execution = execution}, store_, interruption_);
  cancelled_ = cancelled_ || summary.cancelled;
  if (const auto failed = first_failure(summary)) {
    report_.not_run.push_back("The control did not run, and drift of the machine is not subtracted: " + *failed);
  }
}

// Made-up times among measured ones would be nights to compare with, and the other way round.
void Night::keep_demonstrations_apart() {
  Statement simulated(store_.db(), "SELECT 1 FROM sweeps WHERE kind = ? LIMIT 1");
  simulated.bind(1, spec::enum_name(SweepKind::simulated));
  const bool of_demonstrations = simulated.step();
  if (of_demonstrations == is_demonstration()) return;
  if (of_demonstrations) {
    throw InputError(
        fmt::format("[nightly] {} holds a demonstration's nights (--history-from simulated), which are made "
                    "up: name another database with --db",
                    options_.ab.db.string()));
  }
  Statement measured(store_.db(), "SELECT 1 FROM sweeps LIMIT 1");
  if (!measured.step()) return;
  throw InputError(
      fmt::format("[nightly] {} holds measured runs, and --history-from simulated makes nights up: name a new "
                  "database with --db",
                  options_.ab.db.string()));
}

void Night::measure() {
  // These throw for what cannot work, before anything runs.
  options_.ab.rule();
  engine_ = {.asked = "tonight's", .engine = {context_.engine}};
  if (is_demonstration()) {
    engine_ = faulty_side({kDemonstrationClock}, context_.engine);
    faulty_side({options_.fault}, context_.engine);
    options_.ab.spoil = kNothingSpoils;  // what runs beside it is in none of its times
  }
  auto expansion = load_matrix(options_.ab.matrix, catalog_, context_.data_dir());
  report_.matrix = expansion.name;
  if (is_demonstration()) {  // whose clock a run on a GPU cannot have
    std::erase_if(expansion.cells, [](const Cell& cell) { return cell.run.device != spec::Device::cpu; });
  }
  for (auto& cell : expansion.cells) {
    if (options_.repeats > 0) cell.repeats = options_.repeats;
  }
  const auto work = plan_work(std::move(expansion.cells), context_, catalog_, interruption_.fd());
  keep_demonstrations_apart();  // opens it, too: that it cannot be is better said now than after an hour
  archive_.keep(sweep_id_, report_.matrix, engine_.engine.file);
  if (const auto kept = archive_.of_night(sweep_id_)) tonights_libraries_ = kept->program.libraries;
  if (is_demonstration()) {
    simulate_history(work);
    if (!cancelled_) measure_with_planted_fault(work);
  } else {
    sweep(work, settings(engine_, SweepKind::night));
    if (options_.run_control && !cancelled_) measure_control(work);
  }
  archive_.prune(kNightsKept);
}

void Night::screen() {
  for (const auto* metric : kScreened) {
    const auto seen = look_at_history(
        store_.db(), {.matrix = report_.matrix, .metric = metric, .night = NightSweeps{sweep_id_, control_id_}});
    for (const auto& series : seen.series) {
      if (series.is_control && metric != std::string_view("step_time_s")) continue;
      ++report_.series;
      if (series.state == ScreenState::too_few_nights) ++report_.too_few_nights;
      if (!series.is_control) {
        facts_[series.series.cell] = series.nights.back().facts;
        measured_.push_back({.series = series.series, .first_bad = series.nights.back().night});
        if (series.state == ScreenState::too_few_nights) unscreened_.push_back(measured_.back());
      }
      if (series.finding) screened_.push_back(*series.finding);
    }
    // A cell that vanished is missing in every metric.
    if (metric != std::string_view("step_time_s")) continue;
    screened_.insert(screened_.end(), seen.vanished.begin(), seen.vanished.end());
    for (const auto& night : seen.future) report_.notes.push_back(future_night_text(night));
    for (const auto& [cell, nights] : seen.earlier) earlier_[cell.second] = nights;
    note_changes(seen);
    note_cells_without_numbers(seen);
  }
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

// One that failed and was measured lately vanished, which is a finding; of one that fails every night nothing is known.
void Night::note_cells_without_numbers(const HistoryResult& seen) {
  for (const auto& cell : seen.tonight) {
    const bool vanished = std::any_of(seen.vanished.begin(), seen.vanished.end(),
                                      [&](const AlertFinding& found) { return found.series.cell == cell.cell; });
    if (cell.state == "ok" || cell.only_planned() || vanished) continue;
    report_.unseen.push_back({cell.cell, {}, "it did not run: " + cell.state + ", " + cell.reason});
  }
}

// The newest night of a cell, on whatever machine; of one that has a live alert, what was good before it.
void Night::find_last_good_nights() {
  if (earlier_.empty() ||
      std::all_of(earlier_.begin(), earlier_.end(), [](const auto& c) { return c.second.empty(); })) {
    report_.notes.push_back(
        "Before tonight this database has no number of this matrix: there is nothing to hold tonight against");
  }
  const auto live = load_alerts(store_.db(), AlertScope::live);
  for (auto& series : unscreened_) {
    series.seen_utc = report_.started_utc;
    const auto& nights = earlier_[series.series.cell];
    const auto good = std::find_if(nights.rbegin(), nights.rend(), [&](const NightPoint& point) {
      return std::none_of(live.begin(), live.end(), [&](const Alert& alert) {
        const auto& bad = alert.finding;
        return is_bad(bad.kind) && bad.series.matrix == series.series.matrix && bad.series.cell == series.series.cell &&
               is_not_before(nights, point, bad.first_bad);
      });
    });
    if (good == nights.rend()) continue;
    hold_against(series, good->night);
  }
}

void Night::choose_engine(const AlertFinding& asked, EngineGroups& engines, NoPairs& no_pairs) {
  const auto question = question_of(asked);
  const auto& cell = asked.series.cell;
  const auto bad = tonight(cell);
  const auto engine = archive_.of_night(asked.last_good.sweep_id);
  if (!options_.confirm) {
    no_pairs[question] = {Confirmation::unconfirmed, "not confirmed: --no-confirm"};
  } else if (!engine) {
    no_pairs[question] = {Confirmation::unconfirmed,
                          "the engine of the last good night, " + asked.last_good.sweep_id + ", is not in the archive"};
  } else if (bad.engine_arguments == engine_.engine_arguments && same_file(engine->program.file, bad.engine.file) &&
             (engine->program.libraries.empty() || engine->program.libraries == tonights_libraries_)) {
    no_pairs[question] = {Confirmation::refuted,
                          "the engine of the last good night is tonight's, bit for bit: the code did not change"};
  } else if (!engine->problem.empty()) {
    no_pairs[question] = {Confirmation::unconfirmed, engine->problem};
    engines.unusable.insert("The engine of the last good night did not run: " + engine->problem);
  } else {
    auto group = std::find_if(engines.groups.begin(), engines.groups.end(), [&](const GoodEngine& g) {
      return g.good.program == engine->program && g.bad.asked == bad.asked;
    });
    if (group == engines.groups.end()) {
      group = engines.groups.insert(group, GoodEngine{.good = *engine, .bad = bad, .cells = {}, .answers = {}});
    }
    group->cells.insert(cell);
    group->answers.insert(question);
  }
}

// A cell that shifted is decided by the engine of before the shift, for the metrics that could not be screened as well.
std::vector<Night::GoodEngine> Night::good_engines(NoPairs& no_pairs) {
  EngineGroups engines;
  std::map<std::string, AlertNight> chosen;
  for (const auto& finding : screened_) {
    if (finding.kind == AlertKind::vanished_cell || finding.kind == AlertKind::environment) continue;
    chosen.try_emplace(finding.series.cell, finding.last_good);
    choose_engine(finding, engines, no_pairs);
  }
  for (auto& series : unscreened_) {
    const auto& cell = series.series.cell;
    if (const auto shifted = chosen.find(cell); shifted != chosen.end()) {
      hold_against(series, shifted->second);
      continue;
    }
    if (series.last_good.sweep_id.empty()) {
      no_pairs[question_of(series)] = {
          Confirmation::unconfirmed, earlier_[cell].empty() ? "its first night: there is nothing to hold it against"
                                                            : "none of its earlier nights was good: an alert is open"};
      continue;
    }
    choose_engine(series, engines, no_pairs);
  }
  report_.not_run.insert(report_.not_run.end(), engines.unusable.begin(), engines.unusable.end());
  return engines.groups;
}

NightComparison Night::compare(const AbSide& a, const AbSide& b, const std::set<std::string>& cells,
                               AbPurpose purpose) {
  auto options = options_.ab;
  options.cells = cells;
  options.runs = options_.runs_folder();
  auto outcome = compare_sides(a, b, options, purpose, context_, interruption_);
  cancelled_ = cancelled_ || outcome.cancelled;
  return {outcome.report.comparison.comparison_id, std::move(outcome.report.cells)};
}

// An engine so old that it does not understand tonight's runs is an InputError, one that the system cannot start
// (another architecture, a library that is gone) a LaunchError. Neither loses the night.
void Night::confirm() {
  NoPairs no_pairs;
  std::vector<NightComparison> comparisons;
  const auto did_not_run = [&](const GoodEngine& engine, const std::string& why) {
    for (const auto& question : engine.answers) no_pairs[question] = {Confirmation::unconfirmed, why};
    report_.not_run.push_back("The engine of the last good night did not run: " + why);
  };
  for (const auto& good : good_engines(no_pairs)) {
    if (cancelled_) break;
    const AbSide last_good{.asked = "the last good",
                           .kind = SideKind::binary,
                           .engine = good.good.program,
                           .engine_arguments = engine_.engine_arguments};
    try {
      comparisons.push_back(compare(last_good, good.bad, good.cells, AbPurpose::confirm));
      comparisons.back().answers = good.answers;
    } catch (const InputError& e) {
      did_not_run(good, e.what());
    } catch (const LaunchError& e) {
      did_not_run(good, e.what());
    }
  }
  const auto libraries = changed_libraries(comparisons);
  report_.findings = weigh_findings(screened_, comparisons, no_pairs, libraries);
  auto unscreened = weigh_unscreened(unscreened_, comparisons, no_pairs, report_.findings, libraries);
  std::move(unscreened.worse.begin(), unscreened.worse.end(), std::back_inserter(report_.findings));
  std::move(unscreened.unseen.begin(), unscreened.unseen.end(), std::back_inserter(report_.unseen));
}

// By what the engine of the last good night said of its libraries then, and says tonight: one that brings them along
// has them still. Where no pairs were needed it is tonight's engine.
LibraryChanges Night::changed_libraries(const std::vector<NightComparison>& comparisons) {
  LibraryChanges out;
  const auto add = [&](const AlertFinding& asked) {
    const auto& cell = asked.series.cell;
    const auto nights = earlier_.find(cell);
    const auto tonight = facts_.find(cell);
    if (nights == earlier_.end() || tonight == facts_.end()) return;
    const auto good = std::find_if(nights->second.begin(), nights->second.end(), [&](const NightPoint& point) {
      return point.night.sweep_id == asked.last_good.sweep_id;
    });
    if (good == nights->second.end()) return;
    auto now = *tonight->second;
    for (const auto& comparison : comparisons) {
      if (!comparison.answers.contains(question_of(asked))) continue;
      const auto of_a = facts_of_a(store_.db(), comparison.comparison_id, cell);
      if (!of_a.empty()) now = of_a;
    }
    const auto changes = library_changes(*good->facts, now);
    if (!changes.empty()) out.emplace(question_of(asked), changes);
  };
  for (const auto& finding : screened_) add(finding);
  for (const auto& series : unscreened_) add(series);
  return out;
}

// The control is the anchor: the engine that stays the same. No two nights show a slow creep; pairs with it do.
void Night::compare_with_anchor() {
  const bool whole_night = options_.confirm && options_.run_control && options_.ab.matrix.overrides.only.empty();
  if (cancelled_ || !whole_night || is_demonstration()) return;
  const auto anchor = archive_.control();
  const auto since = first_night_of_control(store_.db(), utc_now());
  if (!anchor || !since) return;
  const auto last = last_comparison_utc(store_.db(), report_.matrix, AbPurpose::anchor, report_.started_utc);
  if (!anchor_check_is_due(last.empty() ? since->started_utc : last, report_.started_utc)) return;
  if (!anchor->problem.empty() || same_file(anchor->program.file, context_.engine)) return;  // the control has said why
  say("once a month: pairs of the control's engine, the anchor, and tonight's");
  for (auto& series : measured_) {
    series.last_good = *since;
    series.seen_utc = report_.started_utc;
    series.detail = "crept since the anchor of " + since->started_utc.substr(0, 10);
  }
  const auto not_compared = [&](const std::exception& e) {
    report_.notes.push_back(
        fmt::format("Not compared with the anchor of {}: {}", since->started_utc.substr(0, 10), e.what()));
  };
  const AbSide then{.asked = "the anchor", .kind = SideKind::binary, .engine = anchor->program};
  try {
    auto crept = weigh_anchor(measured_, compare(then, engine_, {}, AbPurpose::anchor), report_.findings);
    report_.notes.push_back(fmt::format("Compared with the anchor of {}, as once a month: {} {} worse",
                                        since->started_utc.substr(0, 10), crept.size(),
                                        crept.size() == 1 ? "series is" : "series are"));
    std::move(crept.begin(), crept.end(), std::back_inserter(report_.findings));
  } catch (const InputError& e) {
    not_compared(e);
  } catch (const LaunchError& e) {
    not_compared(e);
  }
}

}  // namespace perfbench::harness
