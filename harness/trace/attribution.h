// Explains a difference of step time: compares the traced steps of two sides, share by share. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/trace/step_split.h"

namespace perfbench::harness {

// The difference of one share of the step: "backward matmul", "forward all_gather (exposed)", "idle: host".
struct AttributedShare {
  std::string name;
  double a_s = 0;  // seconds of a step, means
  double b_s = 0;

  double difference_s() const { return b_s - a_s; }
};

struct Attribution {
  double a_s = 0;  // duration of a whole traced step, mean over the steps that were used
  double b_s = 0;
  std::vector<AttributedShare> shares;  // their differences sum to b_s - a_s; the largest difference first
  std::size_t a_steps = 0;              // number of steps that were used
  std::size_t b_steps = 0;
  std::int64_t dropped_records =
      0;  // total of both sides; if it is not 0, shares are too small and idle time is too large

  double difference_s() const { return b_s - a_s; }
};

// Takes the splits of each side's runs; with several ranks, the slowest rank of each step counts. The means are over
// the middle half of a side's steps by duration, so that a disturbed step has no influence and the parts still sum
// exactly. nullopt where a side has no step.
std::optional<Attribution> attribute(const std::vector<std::vector<StepSplit>>& a_runs,
                                     const std::vector<std::vector<StepSplit>>& b_runs);

}  // namespace perfbench::harness
