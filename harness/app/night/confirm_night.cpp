// The third part of a night: pairs that check the findings of the screen.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "harness/app/night/creep_check.h"
#include "harness/app/night/earlier_code.h"
#include "harness/app/night/night_pairs.h"
#include "harness/judge/screening.h"
#include "harness/store/ledgers/comparison_ledger.h"
#include "harness/store/queries/query.h"

namespace perfbench::harness {
namespace {

// Cells that the same two sides decide.
struct CellsOfCode {
  AbSide good;
  AbSide bad;
  std::set<std::string> cells;
  std::set<NightQuestion> answers;  // for these cells
};

// The cells of a night, by the code with which they can be compared.
struct CodeGroups {
  std::vector<CellsOfCode> groups;
  std::set<std::string> unusable;  // sentences; one engine serves many cells
  NoPairs no_pairs;
};

bool same_code(const AbSide& a, const AbSide& b) {
  return a.engine == b.engine && a.commit == b.commit;
}

void choose_code(const SoFar& so_far, const Finding& asked, EarlierCodes& codes, CodeGroups& out) {
  const auto question = question_of(asked);
  const auto& cell = asked.series.cell;
  if (!so_far.night.options.confirm) {
    out.no_pairs[question] = {Confirmation::unconfirmed, "not confirmed: --no-confirm"};
    return;
  }
  const auto code = codes.of(cell, asked.last_good, "the last good night");
  if (!code.side) {
    out.no_pairs[question] = code.no_pair;
    if (code.should_have_run) out.unusable.insert("The engine of the last good night did not run: " + code.no_pair.why);
    return;
  }
  auto good = *code.side;
  good.asked = "the last good";
  good.engine_arguments = so_far.measured.engine.engine_arguments;
  auto bad = code.tonight.value_or(so_far.measured.engine_of(cell));
  bad.asked = so_far.measured.engine_of(cell).asked;
  auto group = std::find_if(out.groups.begin(), out.groups.end(), [&](const CellsOfCode& known) {
    return same_code(known.good, good) && known.bad.asked == bad.asked;
  });
  if (group == out.groups.end()) {
    group = out.groups.insert(group, CellsOfCode{.good = good, .bad = bad, .cells = {}, .answers = {}});
  }
  group->cells.insert(cell);
  group->answers.insert(question);
}

// A cell that shifted is compared with the code from before the shift, also for the metrics that could not be screened.
// Writes that night into their findings in `unscreened`.
CodeGroups good_codes(const SoFar& so_far, EarlierCodes& codes, std::vector<Finding>& unscreened) {
  CodeGroups out;
  std::map<std::string, NightId> chosen;
  for (const auto& finding : so_far.screened.findings) {
    const bool of_control = finding.series.matrix != so_far.measured.matrix;
    if (finding.kind == FindingKind::vanished_cell || of_control) continue;
    chosen.try_emplace(finding.series.cell, finding.last_good);
    choose_code(so_far, finding, codes, out);
  }
  for (auto& series : unscreened) {
    const auto& cell = series.series.cell;
    if (const auto shifted = chosen.find(cell); shifted != chosen.end()) {
      compare_with_night(series, shifted->second, so_far.measured.code_name());
      continue;
    }
    if (series.last_good.sweep_id.empty()) {
      const auto earlier = so_far.screened.earlier.find(cell);
      const bool is_first = earlier == so_far.screened.earlier.end() || earlier->second.empty();
      out.no_pairs[question_of(series)] = {Confirmation::unconfirmed,
                                           is_first ? "its first night: there is no baseline for it"
                                                    : "none of its earlier nights was good: an alert is open"};
      continue;
    }
    choose_code(so_far, series, codes, out);
  }
  return out;
}

std::vector<NightComparison> compare_with_last_good(const SoFar& so_far, CodeGroups& asked, Confirmed& out) {
  std::vector<NightComparison> comparisons;
  for (const auto& group : asked.groups) {
    if (out.cancelled) break;
    auto pairs = run_pairs(so_far.night, group.good, group.bad, group.cells, AbPurpose::confirm);
    out.cancelled = pairs.cancelled;
    if (pairs.comparison) {
      comparisons.push_back(std::move(*pairs.comparison));
      comparisons.back().answers = group.answers;
    }
    if (pairs.why_not.empty()) continue;
    for (const auto& question : group.answers) asked.no_pairs[question] = {Confirmation::unconfirmed, pairs.why_not};
    out.not_run.push_back(
        fmt::format("The {} of the last good night did not run: {}", so_far.measured.code_name(), pairs.why_not));
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

}  // namespace

Confirmed confirm(Night& night, const Measured& measured, const Screened& screened) {
  const SoFar so_far{night, measured, screened};
  Confirmed out;
  auto unscreened = screened.unscreened;
  EarlierCodes codes(night, measured, screened);
  auto groups = good_codes(so_far, codes, unscreened);
  out.not_run.assign(groups.unusable.begin(), groups.unusable.end());
  const auto comparisons = compare_with_last_good(so_far, groups, out);
  const auto libraries = changed_libraries(so_far, unscreened, comparisons);
  out.findings = weigh_findings(screened.findings, comparisons, groups.no_pairs, libraries, screened.lasting);
  auto open = weigh_unscreened(unscreened, comparisons, groups.no_pairs, out.findings, libraries);
  std::move(open.worse.begin(), open.worse.end(), std::back_inserter(out.findings));
  out.unseen = std::move(open.unseen);
  check_for_creep(so_far, codes, out);
  return out;
}

}  // namespace perfbench::harness
