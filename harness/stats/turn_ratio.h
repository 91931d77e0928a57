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

// Which of the two stepped first in a turn.
enum class FirstInTurn { a, b };

// Whether what one side leaves behind (threads, cold caches) hits one of the two more than the other: by how much more
// a step of B takes after a step of A than after one of its own, ln, less the same of A. Medians of the steady steps;
// the order within turns is drawn, so that a drift of the machine is in all of them alike. `order` is that of each
// turn and of the one in which both end. Nothing where one of the four kinds of steps is there less than twice, or
// where steps are missing (traced ones).
std::optional<double> order_log_effect(const std::vector<double>& a_step_s, const std::vector<double>& b_step_s,
                                       const std::vector<FirstInTurn>& order);

}  // namespace perfbench::harness
