// The second half of a night: pairs that check the findings of the screen.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/app/night/night.h"
#include "harness/app/pairs/ab_comparison.h"
#include "harness/evidence/run_directory.h"
#include "harness/judge/baseline_findings.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

bool same_file(const fs::path& a, const fs::path& b) {
  const auto bytes = read_file(a);
  return bytes && bytes == read_file(b);
}

// Nights may begin in the same second: if both are among these nights, their order counts.
bool is_not_before(const std::vector<NightPoint>& nights, const NightPoint& night, const NightId& other) {
  const auto found = std::find_if(nights.begin(), nights.end(),
                                  [&](const NightPoint& point) { return point.night.sweep_id == other.sweep_id; });
  if (found == nights.end()) return night.night.started_utc >= other.started_utc;
  return &night >= &*found;
}

void hold_against(Finding& series, const NightId& good) {
  series.last_good = good;
  series.detail =
      "too few nights on this class of machine: compared with the engine of " + good.started_utc.substr(0, 10);
}

}  // namespace

// The newest night of a cell, on any machine; for a cell with a live alert, the last good night before it.
void Night::find_last_good_nights() {
  if (earlier_.empty() ||
      std::all_of(earlier_.begin(), earlier_.end(), [](const auto& c) { return c.second.empty(); })) {
    report_.notes.push_back(
        "This database has no earlier measurements of this matrix, so there is no baseline for tonight");
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

void Night::choose_engine(const Finding& asked, EngineGroups& engines, NoPairs& no_pairs) {
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

// A cell that shifted is compared with the engine from before the shift, also for the metrics that could not be
// screened.
std::vector<Night::GoodEngine> Night::good_engines(NoPairs& no_pairs) {
  EngineGroups engines;
  std::map<std::string, NightId> chosen;
  for (const auto& finding : screened_) {
    const bool of_control = finding.series.matrix != report_.matrix;
    if (finding.kind == FindingKind::vanished_cell || of_control) continue;
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
          Confirmation::unconfirmed, earlier_[cell].empty() ? "its first night: there is no baseline for it"
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
  auto outcome = compare_sides(a, b, options, purpose, installation_, interruption_);
  cancelled_ = cancelled_ || outcome.cancelled;
  return {outcome.report.comparison.comparison_id, std::move(outcome.report.cells)};
}

// An engine that is too old to understand tonight's runs causes an InputError, one that the system cannot start
// (another architecture, a missing library) a LaunchError. Neither ends the night.
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
  report_.findings = weigh_findings(screened_, comparisons, no_pairs, libraries, lasting_);
  auto unscreened = weigh_unscreened(unscreened_, comparisons, no_pairs, report_.findings, libraries);
  std::move(unscreened.worse.begin(), unscreened.worse.end(), std::back_inserter(report_.findings));
  std::move(unscreened.unseen.begin(), unscreened.unseen.end(), std::back_inserter(report_.unseen));
}

// Compares the libraries that the engine of the last good night reported then and tonight. An engine that has its own
// copies still uses them. If no pairs were needed, this is tonight's engine.
LibraryChanges Night::changed_libraries(const std::vector<NightComparison>& comparisons) {
  LibraryChanges out;
  const auto add = [&](const Finding& asked) {
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

// The engine with which each series is compared once a month. The newest improvement that nobody called invalid is a
// new starting point: compared with the control, the whole gain could be lost again unnoticed. If the improved engine
// is not kept any more, and for all other series, it is the control.
std::vector<Night::Anchor> Night::anchors(const ArchivedEngine& control, const NightId& since) {
  const auto improved = newest_improvements(load_alerts(store_.db(), AlertScope::all), report_.matrix);
  std::vector<Anchor> out{{.name = "the control", .night = since, .engine = control, .series = {}}};
  for (const auto& series : measured_) {
    const auto better = improved.find({series.series.cell, series.series.metric});
    const bool later = better != improved.end() && better->second.started_utc > since.started_utc;
    const auto engine = later ? archive_.of_night(better->second.sweep_id) : std::nullopt;
    auto anchor = out.begin();
    if (engine && engine->problem.empty()) {
      const auto& night = better->second;
      anchor = std::find_if(out.begin() + 1, out.end(),
                            [&](const Anchor& known) { return known.night.sweep_id == night.sweep_id; });
      if (anchor == out.end()) {
        anchor = out.insert(anchor, {.name = "the improved engine", .night = night, .engine = *engine, .series = {}});
      }
    }
    anchor->series.push_back(series);
  }
  return out;
}

void Night::compare_with(const Anchor& anchor) {
  const auto date = anchor.night.started_utc.substr(0, 10);
  auto measured = anchor.series;
  std::set<std::string> cells;
  for (auto& series : measured) {
    ask_since(series, anchor.name, anchor.night);
    series.seen_utc = report_.started_utc;
    cells.insert(series.series.cell);
  }
  const auto not_compared = [&](const std::exception& e) {
    report_.notes.push_back(fmt::format("Not compared with {} of {}: {}", anchor.name, date, e.what()));
  };
  const AbSide then{.asked = anchor.name, .kind = SideKind::binary, .engine = anchor.engine.program};
  try {
    auto crept = weigh_creep(measured, compare(then, engine_, cells, AbPurpose::creep), report_.findings);
    report_.notes.push_back(fmt::format("Monthly comparison with {} of {}: {} {} worse", anchor.name, date,
                                        crept.size(), crept.size() == 1 ? "series is" : "series are"));
    std::move(crept.begin(), crept.end(), std::back_inserter(report_.findings));
  } catch (const InputError& e) {
    not_compared(e);
  } catch (const LaunchError& e) {
    not_compared(e);
  }
}

// No two nights show a slow creep, but pairs with an engine that stays the same do.
void Night::check_for_creep() {
  const bool whole_night = options_.confirm && options_.run_control && options_.ab.matrix.overrides.only.empty();
  if (cancelled_ || !whole_night || !has_control()) return;
  const auto control = archive_.control();
  const auto since = first_night_of_control(store_.db(), utc_now());
  if (!control || !since) return;
  const auto last = last_comparison_utc(store_.db(), report_.matrix, AbPurpose::creep, report_.started_utc);
  if (!creep_check_is_due(last.empty() ? since->started_utc : last, report_.started_utc)) return;
  for (const auto& anchor : anchors(*control, *since)) {
    // The report already says why a control cannot run.
    const bool nothing_to_see = anchor.series.empty() || same_file(anchor.engine.program.file, installation_.engine);
    if (cancelled_ || nothing_to_see || !anchor.engine.problem.empty()) continue;
    reports::print(stderr, "monthly comparison: pairs of {} and tonight's\n", anchor.name);
    compare_with(anchor);
  }
}

}  // namespace perfbench::harness
