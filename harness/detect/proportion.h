// A rate seen in trials.
#pragma once

#include <cstdint>

namespace perfbench::harness {

struct Proportion {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Wilson's score interval, two-sided. Throws std::invalid_argument without a trial.
Proportion wilson(std::uint64_t successes, std::uint64_t trials, double confidence = 0.95);

}  // namespace perfbench::harness
