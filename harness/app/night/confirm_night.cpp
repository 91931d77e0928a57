// The third part of a night: pairs that check the findings of the screen.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "harness/app/night/night.h"
#include "harness/app/pairs/ab_comparison.h"
#include "harness/evidence/run_directory.h"
#include "harness/judge/baseline_findings.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/comparison_ledger.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// The results of the parts before this one.
struct SoFar {
  Night& night;
  const Measured& measured;
  const Screened& screened;
};

// Cells that the same two engines decide.
struct GoodEngine {
  ArchivedEngine good;
  AbSide bad;
  std::set<std::string> cells;
  std::set<NightQuestion> answers;  // for these cells
};

// The cells of a night, by the engines with which they can be compared.
struct EngineGroups {
  std::vector<GoodEngine> groups;
  std::set<std::string> unusable;  // sentences; one engine serves many cells
  NoPairs no_pairs;
};

// The engine with which series are compared to find a slow creep.
struct Anchor {
  std::string name;  // "the control"
  NightId night;
  ArchivedEngine engine;
  std::vector<Finding> series;  // as Screened::measured
};

bool same_file(const fs::path& a, const fs::path& b) {
  const auto bytes = read_file(a);
  return bytes && bytes == read_file(b);
}

void choose_engine(const SoFar& so_far, const Finding& asked, EngineGroups& engines) {
  const auto& [night, measured, screened] = so_far;
  const auto question = question_of(asked);
  const auto& cell = asked.series.cell;
  const auto& bad = measured.engine_of(cell);
  const auto engine = night.archive.of_night(asked.last_good.sweep_id);
  if (!night.options.confirm) {
    engines.no_pairs[question] = {Confirmation::unconfirmed, "not confirmed: --no-confirm"};
  } else if (!engine) {
    engines.no_pairs[question] = {Confirmation::unconfirmed, "the engine of the last good night, " +
                                                                 asked.last_good.sweep_id + ", is not in the archive"};
  } else if (bad.engine_arguments == measured.engine.engine_arguments &&
             same_file(engine->program.file, bad.engine.file) &&
             (engine->program.libraries.empty() || engine->program.libraries == measured.libraries)) {
    engines.no_pairs[question] = {
        Confirmation::refuted, "the engine of the last good night is tonight's, bit for bit: the code did not change"};
  } else if (!engine->problem.empty()) {
    engines.no_pairs[question] = {Confirmation::unconfirmed, engine->problem};
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
// screened. Writes that night into their findings in `unscreened`.
EngineGroups good_engines(const SoFar& so_far, std::vector<Finding>& unscreened) {
  EngineGroups engines;
  std::map<std::string, NightId> chosen;
  for (const auto& finding : so_far.screened.findings) {
    const bool of_control = finding.series.matrix != so_far.measured.matrix;
    if (finding.kind == FindingKind::vanished_cell || of_control) continue;
    chosen.try_emplace(finding.series.cell, finding.last_good);
    choose_engine(so_far, finding, engines);
  }
  for (auto& series : unscreened) {
    const auto& cell = series.series.cell;
    if (const auto shifted = chosen.find(cell); shifted != chosen.end()) {
      compare_with_night(series, shifted->second);
      continue;
    }
    if (series.last_good.sweep_id.empty()) {
      const auto earlier = so_far.screened.earlier.find(cell);
      const bool is_first = earlier == so_far.screened.earlier.end() || earlier->second.empty();
      engines.no_pairs[question_of(series)] = {Confirmation::unconfirmed,
                                               is_first ? "its first night: there is no baseline for it"
                                                        : "none of its earlier nights was good: an alert is open"};
      continue;
    }
    choose_engine(so_far, series, engines);
  }
  return engines;
}

NightComparison compare(Night& night, const AbSide& a, const AbSide& b, const std::set<std::string>& cells,
                        AbPurpose purpose, Confirmed& out) {
  auto options = night.options.ab;
  options.cells = cells;
  options.runs = night.options.runs_folder();
  auto outcome = compare_sides(a, b, options, purpose, night.installation, night.interruption);
  out.cancelled = out.cancelled || outcome.cancelled;
  return {outcome.report.comparison.comparison_id, std::move(outcome.report.cells)};
}

// An engine that is too old to understand tonight's runs causes an InputError, one that the system cannot start
// (another architecture, a missing library) a LaunchError. Neither ends the night.
std::vector<NightComparison> compare_with_last_good(const SoFar& so_far, EngineGroups& engines, Confirmed& out) {
  std::vector<NightComparison> comparisons;
  const auto did_not_run = [&](const GoodEngine& engine, const std::string& why) {
    for (const auto& question : engine.answers) engines.no_pairs[question] = {Confirmation::unconfirmed, why};
    out.not_run.push_back("The engine of the last good night did not run: " + why);
  };
  for (const auto& good : engines.groups) {
    if (out.cancelled) break;
    const AbSide last_good{.asked = "the last good",
                           .kind = SideKind::binary,
                           .engine = good.good.program,
                           .engine_arguments = so_far.measured.engine.engine_arguments};
    try {
      comparisons.push_back(compare(so_far.night, last_good, good.bad, good.cells, AbPurpose::confirm, out));
      comparisons.back().answers = good.answers;
    } catch (const InputError& e) {
      did_not_run(good, e.what());
    } catch (const LaunchError& e) {
      did_not_run(good, e.what());
    }
  }
  return comparisons;
}

// Compares the libraries that the engine of the last good night reported then and tonight. An engine that has its own
// copies still uses them. If no pairs were needed, this is tonight's engine.
LibraryChanges changed_libraries(const SoFar& so_far, const std::vector<Finding>& unscreened,
                                 const std::vector<NightComparison>& comparisons) {
  const auto& [night, measured, screened] = so_far;
  LibraryChanges out;
  const auto add = [&, &night = night, &screened = screened](const Finding& asked) {
    const auto& cell = asked.series.cell;
    const auto nights = screened.earlier.find(cell);
    const auto tonight = screened.facts.find(cell);
    if (nights == screened.earlier.end() || tonight == screened.facts.end()) return;
    const auto good = std::find_if(nights->second.begin(), nights->second.end(), [&](const NightPoint& point) {
      return point.night.sweep_id == asked.last_good.sweep_id;
    });
    if (good == nights->second.end()) return;
    auto now = *tonight->second;
    for (const auto& comparison : comparisons) {
      if (!comparison.answers.contains(question_of(asked))) continue;
      const auto of_a = facts_of_a(night.store.db(), comparison.comparison_id, cell);
      if (!of_a.empty()) now = of_a;
    }
    const auto changes = library_changes(*good->facts, now);
    if (!changes.empty()) out.emplace(question_of(asked), changes);
  };
  for (const auto& finding : screened.findings) add(finding);
  for (const auto& series : unscreened) add(series);
  return out;
}

// The engine with which each series is compared once a month. The newest improvement that nobody called invalid is a
// new starting point: compared with the control, the whole gain could be lost again unnoticed. If the improved engine
// is not kept any more, and for all other series, it is the control.
std::vector<Anchor> anchors(const SoFar& so_far, const ArchivedEngine& control, const NightId& since) {
  auto& night = so_far.night;
  const auto improved = newest_improvements(load_alerts(night.store.db(), AlertScope::all), so_far.measured.matrix);
  std::vector<Anchor> out{{.name = "the control", .night = since, .engine = control, .series = {}}};
  for (const auto& series : so_far.screened.measured) {
    const auto better = improved.find({series.series.cell, series.series.metric});
    const bool later = better != improved.end() && better->second.started_utc > since.started_utc;
    const auto engine = later ? night.archive.of_night(better->second.sweep_id) : std::nullopt;
    auto anchor = out.begin();
    if (engine && engine->problem.empty()) {
      const auto& improvement = better->second;
      anchor = std::find_if(out.begin() + 1, out.end(),
                            [&](const Anchor& known) { return known.night.sweep_id == improvement.sweep_id; });
      if (anchor == out.end()) {
        anchor =
            out.insert(anchor, {.name = "the improved engine", .night = improvement, .engine = *engine, .series = {}});
      }
    }
    anchor->series.push_back(series);
  }
  return out;
}

void compare_with(const SoFar& so_far, const Anchor& anchor, Confirmed& out) {
  const auto date = date_of(anchor.night.started_utc);
  auto measured = anchor.series;
  std::set<std::string> cells;
  for (auto& series : measured) {
    ask_since(series, anchor.name, anchor.night);
    series.seen_utc = so_far.night.started_utc;
    cells.insert(series.series.cell);
  }
  const auto not_compared = [&](const std::exception& e) {
    out.notes.push_back(fmt::format("Not compared with {} of {}: {}", anchor.name, date, e.what()));
  };
  const AbSide then{.asked = anchor.name, .kind = SideKind::binary, .engine = anchor.engine.program};
  try {
    const auto pairs = compare(so_far.night, then, so_far.measured.engine, cells, AbPurpose::creep, out);
    auto crept = weigh_creep(measured, pairs, out.findings);
    out.notes.push_back(fmt::format("Monthly comparison with {} of {}: {} {} worse", anchor.name, date, crept.size(),
                                    crept.size() == 1 ? "series is" : "series are"));
    std::move(crept.begin(), crept.end(), std::back_inserter(out.findings));
  } catch (const InputError& e) {
    not_compared(e);
  } catch (const LaunchError& e) {
    not_compared(e);
  }
}

// No two nights show a slow creep, but pairs with an engine that stays the same do.
void check_for_creep(const SoFar& so_far, Confirmed& out) {
  auto& night = so_far.night;
  const auto& options = night.options;
  const bool whole_night = options.confirm && options.run_control && options.ab.matrix.overrides.only.empty();
  if (out.cancelled || !whole_night || !so_far.measured.can_check_for_creep) return;
  const auto control = night.archive.control();
  const auto since = first_night_of_control(night.store.db(), utc_now());
  if (!control || !since) return;
  const auto last = last_comparison_utc(night.store.db(), so_far.measured.matrix, AbPurpose::creep, night.started_utc);
  if (!creep_check_is_due(last.empty() ? since->started_utc : last, night.started_utc)) return;
  for (const auto& anchor : anchors(so_far, *control, *since)) {
    // The report already says why a control cannot run.
    const bool nothing_to_see =
        anchor.series.empty() || same_file(anchor.engine.program.file, night.installation.engine);
    if (out.cancelled || nothing_to_see || !anchor.engine.problem.empty()) continue;
    reports::print(stderr, "monthly comparison: pairs of {} and tonight's\n", anchor.name);
    compare_with(so_far, anchor, out);
  }
}

}  // namespace

Confirmed confirm(Night& night, const Measured& measured, const Screened& screened) {
  const SoFar so_far{night, measured, screened};
  Confirmed out;
  auto unscreened = screened.unscreened;
  auto engines = good_engines(so_far, unscreened);
  out.not_run.assign(engines.unusable.begin(), engines.unusable.end());
  const auto comparisons = compare_with_last_good(so_far, engines, out);
  const auto libraries = changed_libraries(so_far, unscreened, comparisons);
  out.findings = weigh_findings(screened.findings, comparisons, engines.no_pairs, libraries, screened.lasting);
  auto open = weigh_unscreened(unscreened, comparisons, engines.no_pairs, out.findings, libraries);
  std::move(open.worse.begin(), open.worse.end(), std::back_inserter(out.findings));
  out.unseen = std::move(open.unseen);
  check_for_creep(so_far, out);
  return out;
}

}  // namespace perfbench::harness
