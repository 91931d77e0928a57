// Error rates and power of the paired decision (harness/compare/paired_decision.h), simulated and on real pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/compare/paired_decision.h"
#include "harness/detect/proportion.h"
#include "harness/selftest/noise.h"
#include "harness/selftest/result.h"

namespace perfbench::harness {

// Deviation of a process run's log time, in all simulations of pairs: 1 %.
inline constexpr double kRunDeviation = 0.01;

struct PairScenario {
  NoiseKind noise = NoiseKind::gaussian;
  double run_deviation = kRunDeviation;
  double ratio = 1;  // true B / A
  PairedRule rule;
};

struct PairRates {
  Proportion regressed;
  Proportion improved;
  Proportion named;  // either of the two
  Proportion same;
  double mean_pairs = 0;  // until the decision was final
};

// The whole procedure, look by look, on runs in the order of the noise: two runs a pair, A first in two of every
// four (pair_order.h).
PairRates simulate_pairs(const PairScenario& scenario, std::size_t trials, std::uint64_t seed);

// What real comparisons of a side with itself came to, one verdict a trial, at least one. Goal: Wilson's upper bound at
// most twice the level, which at 1 % takes 190 trials.
SelftestResult real_aa_rate(const std::vector<Verdict>& trials, std::size_t pairs, double alpha);
// The same of a side with this fault: how often it was found to be worse.
SelftestResult real_power(const std::string& fault, const std::vector<Verdict>& trials, std::size_t pairs);

// A/A rate of every noise kind, over looks 4, 8 and over looks 4, 8, 16.
std::vector<SelftestResult> aa_rates(std::size_t trials, std::uint64_t seed);

// How often SAME is said of a difference as large as the margin.
std::vector<SelftestResult> equivalence_rates(std::size_t trials, std::uint64_t seed);

// How often a slowdown is found, by its size, with up to 8 and up to 16 pairs.
std::vector<SelftestResult> power_curve(std::size_t trials, std::uint64_t seed);

}  // namespace perfbench::harness
