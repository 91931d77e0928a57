// Simulates error rates and power of comparisons with a stored baseline (harness/judge/compare.h), where the runs of
// one session are compared with those of another. All runs and all cells of a session share its machine, neighbours and
// clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/records/selftest_result.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/proportion.h"

namespace perfbench::harness {

// Within its session, a run's log time has the standard deviation kRunDeviation of pair_rates.h.
struct SessionScenario {
  double session_per_run = 1;  // standard deviation of the sessions' shifts, in units of a run's
  std::size_t nights = 10;     // number of sessions of the same cells that the store has between the two compared ones
  std::size_t cells = 1;       // cells of the matrix, all under the session's shift
  std::size_t runs = 5;        // runs of each cell in each session
  double ratio = 1;            // true current / baseline of every cell
  NoiseKind noise = NoiseKind::gaussian;  // of the shifts, in the order of the sessions
  double probe_share = 0;                 // share of its session's shift that the noise probe of a run shows
  std::size_t sessions_a_day = 1;         // for the first session and those in the store
  std::size_t days_to_last = 1;           // from the last day of those to the compared session
  double day_per_run = 0;                 // standard deviation of a shift that a whole day shares, in units of a run's
};

struct SessionRates {
  Proportion false_in_any;  // comparisons with a cell REGRESSED or IMPROVED, which is false if nothing changed
  Proportion regressed;     // over cells
  Proportion same;          // over cells
};

// Each trial goes through the same steps as `perfbench compare --baseline` with the attempts that it read.
SessionRates simulate_sessions(const SessionScenario& scenario, std::size_t trials, std::uint64_t seed);

// False verdicts about unchanged cells, for sessions that deviate by 0 to 6 times as much as runs. Covers one cell and
// a matrix of twelve, with no known sessions and with ten nights; few nights; and shifts that are not Gaussian.
std::vector<SelftestResult> session_aa_rates(std::size_t trials, std::uint64_t seed);

// How often a slowdown is found, by its size, the deviation of sessions and the number of known nights.
std::vector<SelftestResult> session_power(std::size_t trials, std::uint64_t seed);

}  // namespace perfbench::harness
