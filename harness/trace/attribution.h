// Where a difference of step time comes from: the traced steps of two sides, share by share. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/trace/step_split.h"

namespace perfbench::harness {

// By how much one share of the step differs: "backward matmul", "forward all_gather (exposed)", "idle: host".
struct AttributedShare {
  std::string name;
  double a_s = 0;  // of a step, means
  double b_s = 0;

  double difference_s() const { return b_s - a_s; }
};

struct Attribution {
  double a_s = 0;  // a whole traced step, means over the steps that were used
  double b_s = 0;
  std::vector<AttributedShare> shares;  // their differences sum to b_s - a_s; the largest difference first
  std::size_t a_steps = 0;              // used
  std::size_t b_steps = 0;
  std::int64_t dropped_records = 0;  // of both sides: with any, shares are too small and idle time too large

  double difference_s() const { return b_s - a_s; }
};

// The splits of each side's runs; of several ranks a step is that of the slowest. The means are over the middle half of
// a side's steps by their length, so that a disturbed step moves nothing, and the parts still sum exactly. Nothing
// where a side has no step.
std::optional<Attribution> attribute(const std::vector<std::vector<StepSplit>>& a_runs,
                                     const std::vector<std::vector<StepSplit>>& b_runs);

}  // namespace perfbench::harness
