// Error rates and power of comparisons with a stored baseline (harness/judge/compare.h), simulated: what ran in one
// session held against what ran in another. A session's machine, neighbours and clocks are common to all its runs and
// to all its cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/records/selftest_result.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/proportion.h"

namespace perfbench::harness {

// Deviation of a run's log time within its session is kRunDeviation of pair_rates.h.
struct SessionScenario {
  double session_per_run = 1;             // deviation of the sessions' shifts, in deviations of a run
  std::size_t nights = 10;                // sessions of the same cells that the store has between the two compared
  std::size_t cells = 1;                  // of the matrix, all under the session's shift
  std::size_t runs = 5;                   // of each cell in each session
  double ratio = 1;                       // true current / baseline, of every cell
  NoiseKind noise = NoiseKind::gaussian;  // of the shifts, in the order of the sessions
  double probe_share = 0;                 // of its session's shift that the noise probe of a run shows
  std::size_t sessions_a_day = 1;         // the first one and those that the store has
  std::size_t days_to_last = 1;           // from the last day of those to the session that is compared
  double day_per_run = 0;                 // deviation of a shift that a whole day has, in deviations of a run
};

struct SessionRates {
  Proportion false_in_any;  // comparisons with a cell REGRESSED or IMPROVED; wrong where nothing changed
  Proportion regressed;     // cells
  Proportion same;          // cells
};

// Each trial through all that `perfbench compare --baseline` does with the attempts it read.
SessionRates simulate_sessions(const SessionScenario& scenario, std::size_t trials, std::uint64_t seed);

// False verdicts of unchanged cells, for sessions that deviate by 0 to 6 times as much as runs, of one cell and of a
// matrix of twelve, with nothing known of the sessions and with ten nights; for few nights; and for shifts of other
// kinds than Gaussian.
std::vector<SelftestResult> session_aa_rates(std::size_t trials, std::uint64_t seed);

// How often a slowdown is found, by its size, the deviation of sessions and the nights known.
std::vector<SelftestResult> session_power(std::size_t trials, std::uint64_t seed);

}  // namespace perfbench::harness
