#include "harness/app/runs/baseline_judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/judge/program_rules.h"
#include "harness/stats/log_difference.h"

namespace perfbench::harness {
namespace {

// "run 3f09ac12d4e5, attempts 1, 2 of sweep X".
std::string attempts_text(const CellRuns& cell) {
  constexpr std::size_t kShownDigits = 12;
  std::vector<std::int64_t> numbers;
  std::set<std::string> sweeps;
  for (const auto& attempt : cell.attempts) {
    numbers.push_back(attempt.attempt);
    sweeps.insert(attempt.sweep_id.empty() ? "no sweep" : attempt.sweep_id);
  }
  return fmt::format("run {}, attempts {} of {}", cell.run_id.substr(0, kShownDigits), fmt::join(numbers, ", "),
                     fmt::join(sweeps, ", "));
}

std::string rule_text(const std::string& metric, const std::vector<CellRuns>& cells) {
  const auto judged =
      std::find_if(cells.begin(), cells.end(), [&](const CellRuns& cell) { return is_judged(cell.run(), metric); });
  const auto rule = decision_rule(judged == cells.end() ? metric_rule(metric) : rule_of(judged->run(), metric));
  return fmt::format("margin {}, two-sided level {:g}, the newest {} runs a side; {}", percent(rule.margin_fraction),
                     rule.alpha, rule.most_runs,
                     varies_between_sessions(metric) ? "judged by the spread between sessions of the cell"
                                                     : "runs of two sessions are one sample");
}

// The known sessions, including those of the sides.
std::string sessions_text(const CellComparison& comparison, const std::string& matrix, const KnownSessions& known) {
  std::vector<std::string> sweeps;
  if (const auto of_metric = known.find(comparison.metric); of_metric != known.end()) {
    if (const auto levels = of_metric->second.find({matrix, comparison.run_id}); levels != of_metric->second.end()) {
      for (const auto& level : levels->second) sweeps.push_back(level.sweep_id);
    }
  }
  const auto& decision = comparison.decision;
  return fmt::format("{} other sessions count, one a day{}; in the store: {}", *decision.sessions,
                     decision.session_deviation
                         ? fmt::format(", and they deviate by {}", percent(*decision.session_deviation))
                         : std::string(),
                     sweeps.empty() ? "none" : fmt::format("{}", fmt::join(sweeps, ", ")));
}

}  // namespace

Judgement judgement_of(const BaselineJudgement& about, const std::vector<CellRuns>& cells,
                       const std::vector<CellComparison>& found, const AgainstRequest& request) {
  const auto& matrix = cells.front().matrix;
  Judgement out{.judgement_id = about.judgement_id,
                .kind = JudgementKind::baseline,
                .matrix = matrix,
                .made_utc = request.now_utc};
  const auto add = [&out](const std::string& cell, const std::string& metric, LedgerPart part, std::string text) {
    out.lines.push_back({.cell = cell, .metric = metric, .part = part, .text = std::move(text)});
  };
  add("", "", LedgerPart::reference, fmt::format("compared: {}", about.selection));
  const auto& entry = about.entry;
  add("", "", LedgerPart::reference,
      entry ? fmt::format("baseline {}: {}, set by {} at {} from {}: {}", entry->name, spec::enum_name(entry->kind),
                          entry->author, entry->created_utc, entry->source, entry->reason)
            : fmt::format("baseline {}", request.baseline));
  add("", "", LedgerPart::rule, fmt::format("false discoveries are controlled over all {} rows", found.size()));
  for (const auto& cell : cells) add(cell.label, "", LedgerPart::reference, "now: " + attempts_text(cell));
  for (const auto& cell : about.baseline) {
    add(cell.label, "", LedgerPart::reference, "baseline: " + attempts_text(cell));
  }
  for (const auto& metric : request.metrics) add("", metric, LedgerPart::rule, rule_text(metric, cells));
  for (const auto& one : found) {
    if (one.decision.sessions) {
      add(one.label, one.metric, LedgerPart::nights, sessions_text(one, matrix, request.sessions));
    }
    for (const auto& note : one.notes) add(one.label, one.metric, LedgerPart::note, note);
    add(one.label, one.metric, LedgerPart::answer,
        fmt::format("{} ({}): {}", spec::enum_name(one.decision.verdict), spec::enum_name(one.decision.reason),
                    one.decision.detail));
  }
  return out;
}

}  // namespace perfbench::harness
