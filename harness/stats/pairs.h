// Which side of a pair runs first: of every four pairs two begin with A and two with B, in one of the six orders, drawn
// from the seed alone, so that a comparison that is continued, or run again with its seed, has the same order. Being
// second in a pair may slow a run down: it then slows both sides equally often, and the mean of all pairs does not
// move.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "workloads/spec/enum_names.h"

namespace perfbench::harness {

enum class Side { a, b };

// `cell` is an index; `place` counts from 1 the cell's pairs that count: one that replaces a discarded pair has its
// order, so that discarding does not undo the balance.
Side first_side(std::uint64_t seed, std::size_t cell, std::size_t place);

// For a comparison without one: from the clock and the process. Below 2^53, so that JSON readers keep it whole.
std::uint64_t new_seed();

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Side> {
  using S = perfbench::harness::Side;
  static constexpr std::array kNames{std::pair{S::a, "A"}, std::pair{S::b, "B"}};
};

namespace perfbench::harness {

// Two runs whose steps took turns (harness/pairs/turns.h), held together step by step.
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
