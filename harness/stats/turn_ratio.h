// Two runs whose steps took turns (harness/ab/turns.h), held together step by step.
#pragma once

#include <optional>
#include <vector>

namespace perfbench::harness {

// The median over turns of ln(b / a), where a and b are the times of one and the same step of either run, from the
// later of their two first steady steps (steady.h) on. A disturbance that lasts several steps is in both of a turn and
// cancels, which it does not in the ratio of the runs' medians; one that is shorter is an outlier to the median.
// Nothing where the runs have not equally many steps.
std::optional<double> median_log_ratio(const std::vector<double>& a_step_s, const std::vector<double>& b_step_s);

}  // namespace perfbench::harness
