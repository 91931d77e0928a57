#include "harness/selftest/pair_rates.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "harness/selftest/simulation.h"
#include "harness/stats/pairs.h"
#include "harness/stats/statistics.h"
#include "reports/render/format/number.h"

namespace perfbench::harness {
namespace {

constexpr std::uint64_t kPairsPurpose = 1;
constexpr std::uint64_t kStepsPurpose = 11;
constexpr std::uint64_t kLotPurpose = 12;

// Same as in a real comparison. There, a pair is not run before a look asks for it, which makes no difference here.
PairedDecision decide_all_looks(const std::vector<Pair>& pairs, const PairedRule& rule) {
  for (const auto look : rule.looks) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(look, pairs.size()));
    const auto decided = decide_pairs({pairs.begin(), pairs.begin() + count}, rule);
    if (decided.final) return decided;
  }
  return {};
}

// Noise of runs in pairs that step in turns, in units of log time: {A, B} for each pair.
class TurnsOfPairs {
 public:
  TurnsOfPairs(const PairScenario& scenario, std::uint64_t seed, std::size_t trial)
      : turns_(*scenario.turns),
        run_deviation_(scenario.run_deviation),
        steps_(scenario.noise, series_random(seed, scenario.noise, kStepsPurpose, trial)),
        runs_(NoiseKind::gaussian, series_random(seed, scenario.noise, kPairsPurpose, trial)),
        lot_(series_random(seed, scenario.noise, kLotPurpose, trial)) {}

  std::pair<double, double> next() {
    std::vector<double> a(turns_.turns);
    std::vector<double> b(turns_.turns);
    for (std::size_t i = 0; i < turns_.turns; ++i) {
      const bool a_begins = lot_() % 2 == 0;
      (a_begins ? a : b)[i] = steps_.next();
      (a_begins ? b : a)[i] = steps_.next();
    }
    for (std::size_t i = 0; i < turns_.turns; ++i) b[i] -= a[i];
    const double of_a = turns_.speed_deviation * runs_.next() + turns_.step_deviation * median(a);
    const double difference = turns_.step_deviation * median(b) + run_deviation_ * (runs_.next() - runs_.next());
    return {of_a, of_a + difference};
  }

 private:
  const TurnNoise turns_;
  const double run_deviation_;
  Noise steps_;
  Noise runs_;
  std::mt19937_64 lot_;
};

std::vector<Pair> draw_pairs_in_turns(const PairScenario& scenario, std::uint64_t seed, std::size_t trial) {
  TurnsOfPairs turns(scenario, seed, trial);
  std::vector<Pair> out;
  for (std::size_t i = 0; i < scenario.rule.looks.back(); ++i) {
    const auto [a, b] = turns.next();
    out.push_back({.a = std::exp(a), .b = scenario.ratio * std::exp(b)});
  }
  return out;
}

std::vector<Pair> draw_pairs(const PairScenario& scenario, std::uint64_t seed, std::size_t trial) {
  if (scenario.turns) return draw_pairs_in_turns(scenario, seed, trial);
  Noise noise(scenario.noise, series_random(seed, scenario.noise, kPairsPurpose, trial));
  std::vector<Pair> out;
  for (std::size_t i = 0; i < scenario.rule.looks.back(); ++i) {
    double a = noise.next();
    double b = noise.next();
    if (first_side(seed, trial, i + 1) == Side::b) std::swap(a, b);
    out.push_back(
        {.a = std::exp(scenario.run_deviation * a), .b = scenario.ratio * std::exp(scenario.run_deviation * b)});
  }
  return out;
}

SelftestGoal twice(double level) {
  return {.rule = GoalRule::high_at_most, .limit = 2 * level};
}

std::string name_of(NoiseKind kind) {
  return std::string(spec::enum_name(kind));
}

const std::vector<std::vector<std::size_t>> kLooks{{4, 8}, {4, 8, 16}};
const std::vector<std::size_t> kMostLooks{4, 8, 16, 32, 64};  // of pairs that take less than a second

constexpr const char* kThisMachine = "this machine";

std::uint64_t count(const std::vector<Verdict>& trials, Verdict wanted) {
  return static_cast<std::uint64_t>(std::count(trials.begin(), trials.end(), wanted));
}

}  // namespace

PairRates rates_of(const std::vector<PairOutcome>& outcomes) {
  std::uint64_t regressed = 0;
  std::uint64_t improved = 0;
  std::uint64_t same = 0;
  double pairs = 0;
  for (const auto& o : outcomes) {
    regressed += o.verdict == Verdict::regressed;
    improved += o.verdict == Verdict::improved;
    same += o.verdict == Verdict::same;
    pairs += static_cast<double>(o.pairs);
  }
  const auto n = outcomes.size();
  return {.regressed = wilson(regressed, n),
          .improved = wilson(improved, n),
          .named = wilson(regressed + improved, n),
          .same = wilson(same, n),
          .mean_pairs = pairs / static_cast<double>(n)};
}

PairRates simulate_pairs(const PairScenario& scenario, std::size_t trials, std::uint64_t seed) {
  return rates_of(replicate(trials, [&](std::size_t trial) -> PairOutcome {
    const auto decision = decide_all_looks(draw_pairs(scenario, seed, trial), scenario.rule).decision;
    return {.verdict = decision.verdict, .pairs = decision.current_runs};
  }));
}

SelftestResult real_aa_rate(const std::vector<Verdict>& trials, std::size_t pairs, const std::string& pairing,
                            double alpha) {
  auto out = rate_row(SelftestKind::aa, kThisMachine,
                      fmt::format("false verdicts, {} comparisons of up to {} pairs {}", trials.size(), pairs, pairing),
                      wilson(count(trials, Verdict::regressed) + count(trials, Verdict::improved), trials.size()));
  out.goal = twice(alpha);
  return out;
}

SelftestResult real_power(const std::string& fault, const std::vector<Verdict>& trials, std::size_t pairs,
                          const std::string& pairing) {
  return rate_row(SelftestKind::power, kThisMachine,
                  fmt::format("{} found, {} comparisons of up to {} pairs {}", fault, trials.size(), pairs, pairing),
                  wilson(count(trials, Verdict::regressed), trials.size()));
}

std::vector<SelftestResult> aa_rates(std::size_t trials, std::uint64_t seed) {
  std::vector<SelftestResult> out;
  for (const auto& looks : {kLooks.front(), kLooks.back(), kMostLooks}) {
    for (const auto kind : kNoiseKinds) {
      const PairedRule rule{.looks = looks};
      const auto rates = simulate_pairs({.noise = kind, .rule = rule}, trials, seed);
      out.push_back(rate_row(SelftestKind::aa, name_of(kind),
                             fmt::format("false verdicts, up to {} pairs", looks.back()), rates.named));
      out.back().goal = twice(rule.alpha);
    }
  }
  for (const auto kind : kNoiseKinds) {
    const PairedRule rule{.looks = kLooks.front()};
    const PairScenario scenario{.noise = kind, .run_deviation = kRunDeviation / 3, .turns = TurnNoise{}, .rule = rule};
    out.push_back(rate_row(SelftestKind::aa, name_of(kind), "false verdicts, up to 8 pairs in turns",
                           simulate_pairs(scenario, trials, seed).named));
    out.back().goal = twice(rule.alpha);
  }
  return out;
}

std::vector<SelftestResult> equivalence_rates(std::size_t trials, std::uint64_t seed) {
  constexpr double kLevel = 0.05;  // level of each of the two one-sided tests
  std::vector<SelftestResult> out;
  for (const auto kind : kNoiseKinds) {
    const PairedRule rule;
    // A third of the run noise of the other simulations: quiet enough that SAME can be decided early.
    const PairScenario scenario{
        .noise = kind, .run_deviation = kRunDeviation / 3, .ratio = 1 + rule.margin_fraction, .rule = rule};
    out.push_back(rate_row(SelftestKind::equivalence, name_of(kind),
                           "SAME of a true 2 % difference, 0.33 % run noise, up to 16 pairs",
                           simulate_pairs(scenario, trials, seed).same));
    out.back().goal = twice(kLevel);
  }
  return out;
}

std::vector<SelftestResult> coverage_rates(std::size_t trials, std::uint64_t seed) {
  constexpr double kLevel = 0.05;
  struct Interval95 {
    bool regressed = false;
    bool covers = false;
    bool selected = false;
  };
  std::vector<SelftestResult> out;
  for (const double slowdown : {0.01, 0.02, 0.05}) {
    const PairScenario scenario{.ratio = 1 + slowdown, .rule = {.looks = kLooks.back()}};
    const auto seen = replicate(trials, [&](std::size_t trial) -> Interval95 {
      const auto decided = decide_all_looks(draw_pairs(scenario, seed, trial), scenario.rule);
      if (decided.decision.verdict != Verdict::regressed) return {};
      const auto& interval = *decided.decision.ratio_95;
      return {.regressed = true,
              .covers = interval.low <= scenario.ratio && scenario.ratio <= interval.high,
              .selected = decided.selected};
    });
    const auto count_if = [&seen](auto&& of) {
      return static_cast<std::uint64_t>(std::count_if(seen.begin(), seen.end(), of));
    };
    const auto regressed = count_if([](const Interval95& i) { return i.regressed; });
    const auto name = reports::format_percent(slowdown);
    if (regressed > 0) {
      out.push_back(rate_row(SelftestKind::power, "gaussian, 1 % a run",
                             fmt::format("{} slower, interval of REGRESSED holds it, up to 16 pairs", name),
                             wilson(count_if([](const Interval95& i) { return i.covers; }), regressed)));
    }
    out.push_back(
        rate_row(SelftestKind::power, "gaussian, 1 % a run",
                 fmt::format("{} slower, REGRESSED with an interval that misses it and does not say so", name),
                 wilson(count_if([](const Interval95& i) { return i.regressed && !i.covers && !i.selected; }), trials),
                 twice(kLevel)));
  }
  return out;
}

std::vector<SelftestResult> power_curve(std::size_t trials, std::uint64_t seed) {
  struct Spread {
    const char* name;
    double run_deviation;
  };
  // The second spread is what pairing leaves of 1 % for each run, if half of its variance is common to both runs of a
  // pair.
  const Spread spreads[] = {{"gaussian, 1 % a run", kRunDeviation},
                            {"gaussian, 1 % a pair's ratio", kRunDeviation / std::numbers::sqrt2}};
  std::vector<SelftestResult> out;
  for (const auto& spread : spreads) {
    for (const auto& looks : kLooks) {
      for (const double slowdown : {0.005, 0.01, 0.02, 0.03, 0.05, 0.10}) {
        const PairScenario scenario{
            .run_deviation = spread.run_deviation, .ratio = 1 + slowdown, .rule = {.looks = looks}};
        out.push_back(
            rate_row(SelftestKind::power, spread.name,
                     fmt::format("{} slower found, up to {} pairs", reports::format_percent(slowdown), looks.back()),
                     simulate_pairs(scenario, trials, seed).regressed));
        if (looks.back() != 8 || spread.run_deviation != kRunDeviation) continue;
        if (slowdown == 0.02) out.back().goal = SelftestGoal{.rule = GoalRule::value_at_least, .limit = 0.8};
        if (slowdown == 0.03) out.back().goal = SelftestGoal{.rule = GoalRule::value_at_least, .limit = 0.99};
      }
    }
  }
  for (const double slowdown : {0.01, 0.02, 0.03, 0.05, 0.10}) {
    const PairScenario scenario{.run_deviation = kRunDeviation / 3,
                                .turns = TurnNoise{.turns = 100},
                                .ratio = 1 + slowdown,
                                .rule = {.looks = kLooks.front()}};
    out.push_back(
        rate_row(SelftestKind::power, "gaussian, 10 % a step, 0.33 % a run",
                 fmt::format("{} slower found, up to 8 pairs of 100 turns", reports::format_percent(slowdown)),
                 simulate_pairs(scenario, trials, seed).regressed));
  }
  return out;
}

}  // namespace perfbench::harness
