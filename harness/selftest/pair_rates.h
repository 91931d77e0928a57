// Error rates and power of the paired decision (harness/stats/paired_decision.h), simulated and on real pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/records/selftest_result.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/paired_decision.h"
#include "harness/stats/proportion.h"

namespace perfbench::harness {

// Standard deviation of a process run's log time in all simulations of pairs: 1 %.
inline constexpr double kRunDeviation = 0.01;

// Noise of runs that step in turns: the noise of the steps, in the order in which they are taken, and of the machine's
// speed, which moves from pair to pair.
struct TurnNoise {
  std::size_t turns = 10;         // number of steady turns
  double step_deviation = 0.10;   // for a step of 0.1 s beside a compiler that uses all cores
  double speed_deviation = 0.05;  // noise of a pair, common to both runs
};

struct PairScenario {
  NoiseKind noise = NoiseKind::gaussian;
  double run_deviation = kRunDeviation;  // noise of a process run, independent of its steps
  std::optional<TurnNoise> turns = {};   // nullopt: runs follow each other
  double ratio = 1;                      // true B / A
  PairedRule rule;
};

struct PairRates {
  Proportion regressed;
  Proportion improved;
  Proportion named;  // rate of REGRESSED and IMPROVED together
  Proportion same;
  double mean_pairs = 0;  // until the decision was final
};

// The result of one simulated comparison.
struct PairOutcome {
  Verdict verdict = Verdict::inconclusive;
  std::size_t pairs = 0;  // until the decision was final
};
PairRates rates_of(const std::vector<PairOutcome>& outcomes);  // Needs at least one outcome.

// Simulates the whole procedure, look by look, on runs in the order of the noise: two runs a pair, A first in two of
// every four (pairs.h); or, in turns, on the medians of the turns (harness/stats/pairs.h).
PairRates simulate_pairs(const PairScenario& scenario, std::size_t trials, std::uint64_t seed);

// The rate of false verdicts in real comparisons of a side with itself, from one verdict for each trial, at least one.
// `pairing` says how the runs of their pairs shared the machine: "in turns", "apart". Goal: Wilson's upper bound is at
// most twice the level, which at 1 % takes 190 trials.
SelftestResult real_aa_rate(const std::vector<Verdict>& trials, std::size_t pairs, const std::string& pairing,
                            double alpha);
// The same for a side with this fault: how often it was found to be worse.
SelftestResult real_power(const std::string& fault, const std::vector<Verdict>& trials, std::size_t pairs,
                          const std::string& pairing);

// The A/A rate of every noise kind: over looks 4, 8, over looks 4, 8, 16, over looks 4, 8, 16, 32, 64, and over looks
// 4, 8 in turns.
std::vector<SelftestResult> aa_rates(std::size_t trials, std::uint64_t seed);

// How often a difference as large as the margin is called SAME.
std::vector<SelftestResult> equivalence_rates(std::size_t trials, std::uint64_t seed);

// How often the 95 % interval of a REGRESSED cell holds the true slowdown, and how often one misses it that does not
// say "selected at a look".
std::vector<SelftestResult> coverage_rates(std::size_t trials, std::uint64_t seed);

// How often a slowdown is found, by its size, with up to 8 and up to 16 pairs, then with up to 8 in turns.
std::vector<SelftestResult> power_curve(std::size_t trials, std::uint64_t seed);

}  // namespace perfbench::harness
