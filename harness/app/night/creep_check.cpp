#include "harness/app/night/creep_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/judge/baseline_findings.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/comparison_ledger.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

// The code with which series are compared to find a slow creep.
struct Anchor {
  std::string name;  // "the control"
  NightId night;
  EarlierCode code;             // without a side: it is tonight's, or cannot run
  std::vector<Finding> series;  // as Screened::measured
};

// The control or, for a program, which the control does not run, the oldest commit of its nights.
std::optional<Anchor> first_anchor(const SoFar& so_far, EarlierCodes& codes) {
  auto& night = so_far.night;
  if (so_far.measured.runs_program) {
    // The oldest one may be gone, for example after a rebase.
    for (const auto& [cell, then] : codes.revisions()) {
      const auto code = codes.of(cell, then, "the oldest night");
      if (!code.side && code.no_pair.confirmation != Confirmation::refuted) continue;
      return Anchor{.name = "the program", .night = then, .code = code, .series = {}};
    }
    return std::nullopt;
  }
  const auto control = night.archive.control();
  const auto since = first_night_of_control(night.store.db(), utc_now());
  if (!control || !since) return std::nullopt;
  Anchor out{.name = "the control", .night = *since, .code = {}, .series = {}};
  // The report already says why a control cannot run.
  if (control->problem.empty() && !same_file(control->program.file, night.installation.engine)) {
    out.code.side = AbSide{.kind = SideKind::binary, .engine = control->program};
  }
  return out;
}

// The code with which each series is compared once a month. The newest improvement that nobody called invalid is a new
// starting point: compared with the first anchor, the whole gain could be lost again unnoticed. If the improved code is
// not kept any more, and for all other series, it is the first anchor.
std::vector<Anchor> anchors(const SoFar& so_far, Anchor first, EarlierCodes& codes) {
  auto& night = so_far.night;
  const auto improved = newest_improvements(load_alerts(night.store.db(), AlertScope::all), so_far.measured.matrix);
  std::vector<Anchor> out{std::move(first)};
  const auto add = [&out](const std::string& name, const NightId& then, const EarlierCode& code,
                          const Finding& series) {
    auto anchor = std::find_if(out.begin(), out.end(), [&](const Anchor& known) {
      return known.name == name && known.night.sweep_id == then.sweep_id;
    });
    if (anchor == out.end()) anchor = out.insert(anchor, {.name = name, .night = then, .code = code, .series = {}});
    anchor->series.push_back(series);
  };
  for (const auto& series : so_far.screened.measured) {
    const auto& cell = series.series.cell;
    const auto better = improved.find({cell, series.series.metric});
    if (better != improved.end() && better->second.started_utc > out.front().night.started_utc) {
      const auto code = codes.of(cell, better->second, "the improvement");
      const bool is_tonights = code.no_pair.confirmation == Confirmation::refuted;
      if (code.side || is_tonights) {
        add("the improved " + so_far.measured.code_name(), better->second, code, series);
        continue;
      }
    }
    add(out.front().name, out.front().night, out.front().code, series);
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
  auto then = *anchor.code.side;
  then.asked = anchor.name;
  const auto tonight = anchor.code.tonight.value_or(so_far.measured.engine);
  const auto pairs = run_pairs(so_far.night, then, tonight, cells, AbPurpose::creep);
  out.cancelled = pairs.cancelled;
  if (!pairs.why_not.empty()) {
    out.notes.push_back(fmt::format("Not compared with {} of {}: {}", anchor.name, date, pairs.why_not));
  }
  if (!pairs.comparison) return;
  auto crept = weigh_creep(measured, *pairs.comparison, out.findings);
  out.notes.push_back(fmt::format("Monthly comparison with {} of {}: {} {} worse", anchor.name, date, crept.size(),
                                  crept.size() == 1 ? "series is" : "series are"));
  std::move(crept.begin(), crept.end(), std::back_inserter(out.findings));
}

}  // namespace

void check_for_creep(const SoFar& so_far, EarlierCodes& codes, Confirmed& out) {
  auto& night = so_far.night;
  const auto& options = night.options;
  const bool whole_night = options.confirm && options.run_control && options.ab.matrix.overrides.only.empty();
  if (out.cancelled || !whole_night || !so_far.measured.can_check_for_creep) return;
  auto first = first_anchor(so_far, codes);
  if (!first) return;
  const auto last = last_comparison_utc(night.store.db(), so_far.measured.matrix, AbPurpose::creep, night.started_utc);
  if (!creep_check_is_due(last.empty() ? first->night.started_utc : last, night.started_utc)) return;
  for (const auto& anchor : anchors(so_far, std::move(*first), codes)) {
    if (out.cancelled || anchor.series.empty() || !anchor.code.side) continue;
    reports::print(stderr, "monthly comparison: pairs of {} and tonight's\n", anchor.name);
    compare_with(so_far, anchor, out);
  }
}

}  // namespace perfbench::harness
