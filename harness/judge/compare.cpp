#include "harness/judge/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "harness/judge/cell_runs.h"
#include "harness/judge/comparability.h"
#include "harness/judge/pairs_command.h"
#include "harness/judge/program_rules.h"
#include "harness/stats/statistics.h"
#include "harness/stats/trend.h"
#include "harness/stats/verdict.h"

namespace perfbench::harness {
namespace {

std::optional<double> median_of(const Sample& sample) {
  const auto& values = shown_values(sample);
  if (values.empty()) return std::nullopt;
  return median(values);
}

CellComparison start(const CellRuns& cell, const std::string& metric) {
  CellComparison out;
  out.run_id = cell.run_id;
  out.label = cell.label;
  out.metric = metric;
  out.subject = cell.subject;
  out.machine = cell.machine();
  out.margin_fraction = rule_of(cell.run(), metric).margin_fraction;
  out.current = median_of(sample_of(cell, metric));
  return out;
}

CellComparison without_counterpart(const CellRuns& cell, const std::string& metric, const std::string& scope) {
  auto out = start(cell, metric);
  out.decision.verdict = Verdict::not_comparable;
  out.decision.reason = VerdictReason::no_baseline;
  out.decision.detail = "not comparable because: " + scope + " has nothing for this cell";
  return out;
}

CellComparison vanished(const CellRuns& gone, const std::string& metric, const std::string& scope) {
  CellComparison out;
  out.run_id = gone.run_id;
  out.label = gone.label;
  out.metric = metric;
  out.subject = gone.subject;
  out.machine = gone.machine();
  out.baseline = median_of(sample_of(gone, metric));
  out.decision.verdict = Verdict::inconclusive;
  out.decision.reason = VerdictReason::vanished;
  out.decision.detail = scope + " has this cell, but it was not measured now: run it again, or set the baseline again";
  return out;
}

// A run compared with itself would look steady, so current runs are removed from the baseline.
CellRuns without_attempts_of(CellRuns baseline, const CellRuns& current) {
  std::erase_if(baseline.attempts, [&](const StoredAttempt& mine) {
    return std::any_of(current.attempts.begin(), current.attempts.end(),
                       [&](const StoredAttempt& other) { return other.key == mine.key; });
  });
  return baseline;
}

// The baseline's runs of the same cell, without the cell's own. Prefers those on the same machine.
const CellRuns* counterpart_of(const CellRuns& cell, const std::vector<CellRuns>& baseline) {
  const CellRuns* found = nullptr;
  int best = 0;
  for (const auto& other : baseline) {
    if (other.run_id != cell.run_id) continue;
    const int others = without_attempts_of(other, cell).attempts.empty() ? 0 : 2;
    const int fit = 1 + others + (other.machine() == cell.machine() ? 1 : 0);
    if (fit > best) found = &other;
    best = std::max(best, fit);
  }
  return found;
}

bool any_of(const std::vector<CellRuns>& cells, std::string CellRuns::*member, const std::string& value) {
  return std::any_of(cells.begin(), cells.end(), [&](const CellRuns& cell) { return cell.*member == value; });
}

// Explains a decision that had no data. `theirs` is null if the baseline consists of numbers.
void explain_missing(Decision& decision, const CellRuns& cell, const CellRuns* theirs, const std::string& metric) {
  if (decision.reason != VerdictReason::no_measurement) return;
  const auto mine = why_no_value(cell, metric);
  const auto other = theirs == nullptr ? std::string() : why_no_value(*theirs, metric);
  if (mine.empty() && other.empty()) return;
  decision.detail = mine.empty() ? "" : "nothing to compare: " + mine;
  if (!other.empty()) decision.detail += (mine.empty() ? "" : "; ") + std::string("nothing in the baseline: ") + other;
}

// Notes that the newest run diverged, which its other figures do not show.
void note_diverged(CellComparison& out, const CellRuns& cell) {
  const auto lost = std::count_if(cell.attempts.begin(), cell.attempts.end(),
                                  [](const StoredAttempt& a) { return a.state == AttemptState::diverged; });
  if (lost == 0 || out.decision.reason == VerdictReason::side_failed) return;
  out.notes.push_back(fmt::format("{} of {} attempts diverged", lost, cell.attempts.size()));
}

void note_trend(CellComparison& out, const CellRuns& cell, const std::string& whose) {
  auto note = trend_note(whose, shown_values(sample_of(cell, "step_time_trend_fraction")));
  if (!note.empty()) out.notes.push_back(std::move(note));
}

// Sessions of the cell on its machine. Sessions of one machine do not show how two machines differ.
std::vector<SessionLevel> levels_for(const CellRuns& cell, const CellRuns* theirs, const SessionLevels& known) {
  std::vector<SessionLevel> out;
  const auto levels = known.find({cell.matrix, cell.run_id});
  if (levels == known.end() || (theirs != nullptr && theirs->machine() != cell.machine())) return out;
  const auto here = [machine = cell.machine()](const SessionLevel& level) { return level.machine == machine; };
  std::copy_if(levels->second.begin(), levels->second.end(), std::back_inserter(out), here);
  return out;
}

// `theirs` is null if the baseline consists of numbers.
Decision decide_stored(const CellRuns& cell, const CellRuns* theirs, const Sample& baseline, const std::string& metric,
                       const SessionLevels& known) {
  const auto mine = sample_of(cell, metric);
  const auto metric_of_rule = rule_of(cell.run(), metric);
  const auto rule = decision_rule(metric_of_rule);
  if (!varies_between_sessions(metric)) {
    const auto doubt = metric_of_rule.noise == spec::MetricNoise::counted ? std::string() : why_not_exact(cell, theirs);
    const auto exactness = doubt.empty() ? exactness_of(metric_of_rule.noise) : Exactness::doubted;
    if (const auto exact = decide_exact(all_values(mine), all_values(baseline), rule, exactness)) return *exact;
    auto tested = decide(mine, baseline, rule);
    if (!doubt.empty()) tested.detail += "; its numbers are not exact: " + doubt;
    return tested;
  }
  auto out = decide_between_sessions(mine, baseline, rule, levels_for(cell, theirs, known));
  const bool unknown = out.reason == VerdictReason::sessions_unknown || out.reason == VerdictReason::sessions_too_close;
  if (unknown) out.detail += "; pairs decide: " + pairs_command(cell, theirs);
  return out;
}

CellComparison compare_pair(const CellRuns& cell, const CellRuns& baseline, const std::string& metric,
                            const SessionLevels& known) {
  auto out = start(cell, metric);
  const auto counterpart = without_attempts_of(baseline, cell);
  if (counterpart.attempts.empty()) {
    out.baseline = median_of(sample_of(baseline, metric));
    out.decision.reason = VerdictReason::same_runs;
    out.decision.detail = "these runs are the baseline: run the cell again to compare";
    return out;
  }
  const ComparedSide mine{.run = cell.run(), .environment = cell.environment()};
  const ComparedSide theirs{.run = counterpart.run(), .environment = counterpart.environment()};
  const auto sample = sample_of(counterpart, metric);
  out.baseline = median_of(sample);
  const auto found = obstacles(mine, theirs);
  if (!found.empty()) {
    out.decision.verdict = Verdict::not_comparable;
    out.decision.reason = found.front().reason;
    out.decision.detail = not_comparable_text(found);
    return out;
  }
  out.decision = decide_stored(cell, &counterpart, sample, metric, known);
  explain_missing(out.decision, cell, &counterpart, metric);
  if (auto lost = diverged_now(cell); lost && !counterpart.finished().empty() && counterpart.diverged() == nullptr) {
    out.decision = *std::move(lost);
  }
  out.notes = differences(mine, theirs);
  note_trend(out, cell, "here");
  note_trend(out, counterpart, "baseline");
  note_diverged(out, cell);
  return out;
}

}  // namespace

std::vector<CellComparison> compare_with_runs(const std::vector<CellRuns>& current, const RunBaseline& baseline,
                                              const std::string& metric, const SessionLevels& known) {
  std::vector<CellComparison> out;
  for (const auto& cell : current) {
    const auto* same_run = counterpart_of(cell, baseline.cells);
    if (same_run != nullptr) {
      out.push_back(compare_pair(cell, *same_run, metric, known));
      out.back().is_of_baseline = true;
    } else if (baseline.for_every_cell && baseline.cells.size() == 1) {
      out.push_back(compare_pair(cell, baseline.cells.front(), metric, known));
    } else {
      out.push_back(without_counterpart(cell, metric, baseline.scope));
    }
  }
  if (baseline.absent == AbsentCells::passed_over) return out;
  for (const auto& cell : baseline.cells) {
    if (any_of(current, &CellRuns::run_id, cell.run_id) || !any_of(current, &CellRuns::matrix, cell.matrix)) continue;
    out.push_back(vanished(cell, metric, baseline.scope));
  }
  return out;
}

std::vector<CellComparison> compare_with_values(const std::vector<CellRuns>& current, const Baseline& baseline,
                                                const std::string& metric, const SessionLevels& known) {
  const auto values_of = [&](const std::string& subject) {
    Sample sample;
    for (const auto& v : baseline.values) {
      if (v.subject == subject && v.metric == metric) sample.values.push_back(v.value);
    }
    return sample;
  };
  std::vector<CellComparison> out;
  for (const auto& cell : current) {
    auto theirs = values_of(cell.run_id);
    if (theirs.values.empty()) theirs = values_of(cell.label);
    if (theirs.values.empty()) {
      out.push_back(without_counterpart(cell, metric, "baseline '" + baseline.name + "'"));
      continue;
    }
    auto comparison = start(cell, metric);
    comparison.baseline = median_of(theirs);
    const bool constant = theirs.values.size() == 1;
    comparison.decision = constant && varies_between_sessions(metric)
                              ? decide_against_constant(sample_of(cell, metric), theirs.values.front(),
                                                        decision_rule(rule_of(cell.run(), metric)))
                              : decide_stored(cell, nullptr, theirs, metric, known);
    explain_missing(comparison.decision, cell, nullptr, metric);
    if (auto lost = diverged_now(cell)) comparison.decision = *std::move(lost);
    comparison.notes.emplace_back("this database does not know the baseline's machine");
    if (const auto note = constant_note(cell, metric); note && constant) comparison.notes.push_back(*note);
    note_trend(comparison, cell, "here");
    note_diverged(comparison, cell);
    out.push_back(std::move(comparison));
  }
  return out;
}

std::optional<std::string> constant_note(const CellRuns& cell, const std::string& metric) {
  if (!varies_between_sessions(metric)) return std::nullopt;
  std::set<std::string> sessions;
  for (const auto& attempt : cell.attempts) sessions.insert(attempt.sweep_id);
  return fmt::format("from {} session{}: the verdict does not include how far sessions of this cell differ",
                     sessions.size(), sessions.size() == 1 ? "" : "s");
}

std::vector<Decision*> tested_decisions(std::vector<CellComparison>& comparisons) {
  std::vector<Decision*> out;
  for (auto& comparison : comparisons) {
    if (comparison.decision.p) out.push_back(&comparison.decision);
  }
  return out;
}

std::vector<Verdict> verdicts_of(const std::vector<CellComparison>& comparisons) {
  std::vector<Verdict> out;
  for (const auto& comparison : comparisons) {
    const auto verdict = comparison.decision.verdict;
    const bool lost = verdict == Verdict::not_comparable && comparison.is_of_baseline;
    out.push_back(lost ? Verdict::inconclusive : verdict);
  }
  return out;
}

}  // namespace perfbench::harness
