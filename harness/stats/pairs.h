// Which side of a pair runs first. In every four pairs two begin with A and two with B, in one of the six possible
// orders. The seed alone determines the order, so that a comparison that is continued, or repeated with its seed, has
// the same order. Being second in a pair may slow a run down. Both sides are then slowed equally often, and the mean of
// all pairs does not move.
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

// `cell` is an index. `place` counts, from 1, the pairs of the cell that are kept: a pair that replaces a discarded one
// has the same place and order, so that discarding does not undo the balance.
Side first_side(std::uint64_t seed, std::size_t cell, std::size_t place);

// A seed for a comparison without one, from the clock and the process. Below 2^53, so that JSON readers keep it exact.
std::uint64_t new_seed();

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Side> {
  using S = perfbench::harness::Side;
  static constexpr std::array kNames{std::pair{S::a, "A"}, std::pair{S::b, "B"}};
};

namespace perfbench::harness {

// Compares two runs whose steps took turns (harness/pairs/turns.h) step by step. Returns the median over turns of ln(b
// / a), where a and b are the times of the same step of either run, starting at the later of their two first steady
// steps (steady.h). A disturbance that lasts several steps hits both steps of a turn and cancels, which it does not in
// the ratio of the runs' medians; a shorter one is an outlier to the median. nullopt where the runs have different
// numbers of steps.
std::optional<double> median_log_ratio(const std::vector<double>& a_step_s, const std::vector<double>& b_step_s);

// Which run stepped first in a turn.
enum class FirstInTurn { a, b };

// Measures whether the state that one side leaves behind (threads, cold caches) hits one side more than the other.
// Returns how much longer a step of B takes after a step of A than after one of its own, in ln, less the same
// difference for A. Uses medians of the steady steps. The order within turns is random, so that a drift of the machine
// affects all of them alike. `order` holds the order of each turn, and of the turn in which both runs end. nullopt
// where one of the four kinds of steps occurs less than twice, or where steps are missing (traced ones).
std::optional<double> order_log_effect(const std::vector<double>& a_step_s, const std::vector<double>& b_step_s,
                                       const std::vector<FirstInTurn>& order);

}  // namespace perfbench::harness
