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

// Deviation of a process run's log time, in all simulations of pairs: 1 %.
inline constexpr double kRunDeviation = 0.01;

// Of runs that step in turns: the noise is that of the steps, in the order in which they are taken, and the machine's
// speed moves from pair to pair.
struct TurnNoise {
  std::size_t turns = 10;         // steady ones
  double step_deviation = 0.10;   // beside a compiler on all cores, of a step of 0.1 s
  double speed_deviation = 0.05;  // of a pair, common to both runs
};

struct PairScenario {
  NoiseKind noise = NoiseKind::gaussian;
  double run_deviation = kRunDeviation;  // of a process run, whatever its steps do
  std::optional<TurnNoise> turns = {};   // absent: runs follow each other
  double ratio = 1;                      // true B / A
  PairedRule rule;
};

struct PairRates {
  Proportion regressed;
  Proportion improved;
  Proportion named;  // either of the two
  Proportion same;
  double mean_pairs = 0;  // until the decision was final
};

// What one simulated comparison came to.
struct PairOutcome {
  Verdict verdict = Verdict::inconclusive;
  std::size_t pairs = 0;  // until the decision was final
};
PairRates rates_of(const std::vector<PairOutcome>& outcomes);  // at least one

// The whole procedure, look by look, on runs in the order of the noise: two runs a pair, A first in two of every
// four (pairs.h); or, in turns, on the medians of the turns (harness/stats/pairs.h).
PairRates simulate_pairs(const PairScenario& scenario, std::size_t trials, std::uint64_t seed);

// What real comparisons of a side with itself came to, one verdict a trial, at least one; `pairing` says how the runs
// of their pairs shared the machine: "in turns", "apart". Goal: Wilson's upper bound at most twice the level, which at
// 1 % takes 190 trials.
SelftestResult real_aa_rate(const std::vector<Verdict>& trials, std::size_t pairs, const std::string& pairing,
                            double alpha);
// The same of a side with this fault: how often it was found to be worse.
SelftestResult real_power(const std::string& fault, const std::vector<Verdict>& trials, std::size_t pairs,
                          const std::string& pairing);

// A/A rate of every noise kind, over looks 4, 8 and over looks 4, 8, 16, then over looks 4, 8 in turns.
std::vector<SelftestResult> aa_rates(std::size_t trials, std::uint64_t seed);

// How often SAME is said of a difference as large as the margin.
std::vector<SelftestResult> equivalence_rates(std::size_t trials, std::uint64_t seed);

// How often a slowdown is found, by its size, with up to 8 and up to 16 pairs, then with up to 8 in turns.
std::vector<SelftestResult> power_curve(std::size_t trials, std::uint64_t seed);

}  // namespace perfbench::harness
