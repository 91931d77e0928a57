#include "harness/selftest/detection_rates.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <utility>

#include "harness/selftest/simulation.h"
#include "harness/stats/detection.h"
#include "harness/stats/pairs.h"
#include "harness/stats/statistics.h"
#include "reports/render/format/number.h"

namespace perfbench::harness {
namespace {

constexpr std::uint64_t kTurnsPurpose = 21;
constexpr std::uint64_t kRunsPurpose = 22;
constexpr std::uint64_t kWhoBeginsPurpose = 23;

// Pairs of two processes that step in turns.
class PairsInTurns {
 public:
  PairsInTurns(const DetectionScenario& scenario, std::uint64_t seed, std::size_t trial)
      : scenario_(scenario),
        steps_(scenario.noise, series_random(seed, scenario.noise, kTurnsPurpose, trial)),
        runs_(NoiseKind::gaussian, series_random(seed, scenario.noise, kRunsPurpose, trial)),
        lot_(series_random(seed, scenario.noise, kWhoBeginsPurpose, trial)) {}

  PilotPair next(std::size_t turns) {
    PilotPair out{.a_step_s = {}, .b_step_s = {}, .wall_s = scenario_.start_s};
    const double speed = scenario_.speed_deviation * runs_.next();
    const double a = speed + scenario_.run_deviation * runs_.next();
    const double b = speed + scenario_.run_deviation * runs_.next() + std::log(scenario_.ratio);
    for (std::size_t i = 0; i < turns; ++i) {
      double of_a = steps_.next();
      double of_b = steps_.next();
      if (lot_() % 2 == 0) std::swap(of_a, of_b);
      out.a_step_s.push_back(scenario_.turn_s / 2 * std::exp(a + scenario_.step_deviation * of_a));
      out.b_step_s.push_back(scenario_.turn_s / 2 * std::exp(b + scenario_.step_deviation * of_b));
      out.wall_s += out.a_step_s.back() + out.b_step_s.back();
    }
    return out;
  }

 private:
  const DetectionScenario scenario_;
  Noise steps_;
  Noise runs_;
  std::mt19937_64 lot_;
};

// Empty if it was refused.
struct Detection {
  std::optional<Verdict> verdict;
  std::size_t pairs = 0;
  double took_s = 0;
};

PairedRule detection_rule(const DetectionScenario& scenario, std::size_t pairs) {
  return {.margin_fraction = scenario.fraction, .looks = detection_looks(pairs), .futile_below = kFutileBelow};
}

Detection detect(const DetectionScenario& scenario, std::uint64_t seed, std::size_t trial) {
  PairsInTurns pairs_in_turns(scenario, seed, trial);
  Detection out;
  std::vector<PilotPair> pilots;
  for (std::size_t i = 0; i < kPilotPairs; ++i) {
    pilots.push_back(pairs_in_turns.next(kPilotSteps));
    out.took_s += pilots.back().wall_s;
  }
  const auto pilot = read_pilot(pilots);
  const auto plan = plan_detection({*pilot}, scenario.fraction);
  if (plan.turns[0] == 0 || out.took_s + plan.cost_s[0] > scenario.within_s) return out;
  const auto rule = detection_rule(scenario, plan.pairs);
  std::vector<Pair> pairs;
  for (const auto look : rule.looks) {
    while (pairs.size() < look) {
      const auto pair = pairs_in_turns.next(plan.turns[0] + pilot->warmup_steps);
      out.took_s += pair.wall_s;
      const double a = median(pair.a_step_s);
      pairs.push_back({.a = a, .b = a * std::exp(*median_log_ratio(pair.a_step_s, pair.b_step_s))});
    }
    const auto decided = decide_pairs(pairs, rule);
    out.verdict = decided.decision.verdict;
    if (decided.final) break;
  }
  out.pairs = pairs.size();
  return out;
}

}  // namespace

DetectionRates simulate_detection(const DetectionScenario& scenario, std::size_t trials, std::uint64_t seed) {
  const auto all = replicate(trials, [&](std::size_t trial) { return detect(scenario, seed, trial); });
  DetectionRates out;
  std::vector<PairOutcome> planned;
  for (const auto& one : all) {
    if (!one.verdict) continue;
    planned.push_back({.verdict = *one.verdict, .pairs = one.pairs});
    out.mean_minutes += one.took_s / 60;
  }
  out.refused = wilson(trials - planned.size(), trials);
  if (planned.empty()) return out;
  out.mean_minutes /= static_cast<double>(planned.size());
  out.of_planned = rates_of(planned);
  return out;
}

std::vector<SelftestResult> detection_rates(std::size_t trials, std::uint64_t seed) {
  constexpr double kAlpha = 0.01;
  std::vector<SelftestResult> out;
  for (const auto noise : kNoiseKinds) {
    const auto nothing = simulate_detection({.noise = noise}, trials, seed);
    out.push_back(rate_row(SelftestKind::aa, std::string(spec::enum_name(noise)),
                           "false verdicts, --detect 2%, in turns", nothing.of_planned.named,
                           SelftestGoal{.rule = GoalRule::high_at_most, .limit = 2 * kAlpha}));
  }
  for (const auto noise : kNoiseKinds) {
    for (const double fraction : {0.02, 0.05}) {
      const auto slower =
          simulate_detection({.noise = noise, .ratio = 1 + fraction, .fraction = fraction}, trials, seed);
      const auto percent = reports::format_percent(fraction);
      out.push_back(rate_row(SelftestKind::power, std::string(spec::enum_name(noise)),
                             fmt::format("{} slower found, --detect {}, in turns, where not refused", percent, percent),
                             slower.of_planned.regressed,
                             SelftestGoal{.rule = GoalRule::value_at_least, .limit = 0.8}));
    }
  }
  return out;
}

}  // namespace perfbench::harness
