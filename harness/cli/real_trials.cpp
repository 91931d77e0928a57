#include "harness/cli/real_trials.h"

#include <fmt/core.h>

#include "harness/cli/ab_comparison.h"
#include "harness/run/interruption.h"
#include "harness/selftest/pair_rates.h"

namespace perfbench::harness {
namespace {

constexpr const char* kMetric = "step_time_s";

// What was decided on each cell; of one whose pairs were all discarded, that nothing was.
void append_verdicts(const std::vector<CellVerdict>& cells, std::vector<Verdict>& out) {
  for (const auto& cell : cells) {
    auto verdict = Verdict::inconclusive;
    for (const auto& metric : cell.metrics) {
      if (metric.rule.metric == kMetric) verdict = metric.decided.decision.verdict;
    }
    out.push_back(cell.whole ? cell.whole->verdict : verdict);
  }
}

}  // namespace

std::vector<SelftestResult> run_real_trials(const RealTrials& what, const CommandContext& context,
                                            Interruption& interruption) {
  auto options = what.ab;
  options.metrics = {kMetric};
  const auto rule = options.rule();
  const AbSide itself{.asked = "current", .engine = context.engine};
  std::vector<AbSide> sides{itself};
  for (const auto& fault : what.faults) sides.push_back(faulty_side(fault, context.engine));
  std::vector<std::vector<Verdict>> verdicts(sides.size());
  bool cancelled = false;
  // Trial by trial, so that all rows are of the same hours.
  for (std::size_t trial = 1; trial <= what.trials && !cancelled; ++trial) {
    for (std::size_t i = 0; i < sides.size() && !cancelled; ++i) {
      fmt::print(stderr, "trial {} of {}: {}\n", trial, what.trials, i == 0 ? "nothing changed" : sides[i].asked);
      if (what.ab.seed) options.seed = *what.ab.seed + trial * sides.size() + i;  // another order each time
      const auto outcome = compare_sides(itself, sides[i], options, AbPurpose::selftest, context, interruption);
      cancelled = outcome.cancelled;
      if (!cancelled) append_verdicts(outcome.report.cells, verdicts[i]);
    }
  }
  std::vector<SelftestResult> out;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (verdicts[i].empty()) continue;
    out.push_back(i == 0 ? real_aa_rate(verdicts[i], rule.looks.back(), rule.alpha)
                         : real_power(what.faults[i - 1], verdicts[i], rule.looks.back()));
  }
  return out;
}

}  // namespace perfbench::harness
