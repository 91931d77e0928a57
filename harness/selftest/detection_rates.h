// Error rates and power of comparisons that look for a difference of a given size (compare --ab --detect). Simulates
// the whole procedure, from two pilot pairs and the plan (harness/stats/detection.h) to the last look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/selftest/pair_rates.h"

namespace perfbench::harness {

struct DetectionScenario {
  NoiseKind noise = NoiseKind::gaussian;
  double step_deviation = 0.05;              // noise of a step, in the order in which steps are taken
  double speed_deviation = 0.05;             // noise of a pair, common to both runs
  double run_deviation = kRunDeviation / 3;  // noise of a process run
  double ratio = 1;                          // true B / A
  double fraction = 0.02;                    // the difference to find, and the margin
  double start_s = 4;                        // duration of a pair without its steps
  double turn_s = 0.1;                       // duration of a step of A and a step of B
  double within_s = 600;                     // a plan that takes longer is refused
};

struct DetectionRates {
  PairRates of_planned;  // rates over trials that were not refused
  Proportion refused;
  double mean_minutes = 0;  // of the trials that were not refused, including their pilot pairs
};

DetectionRates simulate_detection(const DetectionScenario& scenario, std::size_t trials, std::uint64_t seed);

// For every noise kind: false verdicts where nothing changed, and how often the requested difference is found.
std::vector<SelftestResult> detection_rates(std::size_t trials, std::uint64_t seed);

}  // namespace perfbench::harness
