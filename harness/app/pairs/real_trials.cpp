#include "harness/app/pairs/real_trials.h"

#include <map>

#include "harness/app/pairs/ab_comparison.h"
#include "harness/execute/interruption.h"
#include "harness/selftest/pair_rates.h"
#include "harness/system/parallel_ranges.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

constexpr const char* kMetric = "step_time_s";

constexpr const char* kInTurns = "in turns";
constexpr const char* kApart = "apart";

using Verdicts = std::map<std::string, std::vector<Verdict>>;  // by the way in which runs of pairs shared the machine

// Appends the verdicts of cells with enough pairs for every look.
void append_verdicts(const std::vector<CellVerdict>& cells, const AbRule& rule, Verdicts& out) {
  for (const auto& cell : cells) {
    if (cell.whole) continue;
    for (const auto& metric : cell.metrics) {
      const auto verdict = metric.decided.decision.verdict;
      const bool all_looks = verdict != Verdict::inconclusive || metric.pairs >= rule.looks.back();
      if (metric.rule.metric == kMetric && all_looks) out[cell.in_turns ? kInTurns : kApart].push_back(verdict);
    }
  }
}

}  // namespace

RealRates run_real_trials(const RealTrials& what, const Installation& installation, Interruption& interruption) {
  auto options = what.ab;
  options.metrics = {kMetric};
  const auto rule = options.rule();
  const AbSide itself{.asked = "current", .engine = {installation.engine}};
  std::vector<AbSide> sides{itself};
  for (const auto& fault : what.faults) sides.push_back(faulty_side({fault}, installation.engine));
  std::vector<Verdicts> verdicts(sides.size());
  bool cancelled = false;
  // One trial of every row after the other, so that all rows cover the same hours.
  for (std::size_t trial = 1; trial <= what.trials && !cancelled; ++trial) {
    for (std::size_t i = 0; i < sides.size() && !cancelled; ++i) {
      reports::print(stderr, "trial {} of {}: {}\n", trial, what.trials, i == 0 ? "nothing changed" : sides[i].asked);
      if (what.ab.seed) options.seed = *what.ab.seed + trial * sides.size() + i;  // another order in each trial
      try {
        const auto outcome = compare_sides(itself, sides[i], options, AbPurpose::selftest, installation, interruption);
        cancelled = outcome.cancelled;
        if (!cancelled) append_verdicts(outcome.report.cells, rule, verdicts[i]);
      } catch (const Cancelled&) {
        cancelled = true;
      }
    }
  }
  RealRates out{.cancelled = cancelled};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    for (const auto& [pairing, trials] : verdicts[i]) {
      out.rows.push_back(i == 0 ? real_aa_rate(trials, rule.looks.back(), pairing, rule.alpha)
                                : real_power(what.faults[i - 1], trials, rule.looks.back(), pairing));
    }
  }
  return out;
}

}  // namespace perfbench::harness
