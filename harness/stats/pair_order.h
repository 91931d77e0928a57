// Which side of a pair runs first: of every four pairs two begin with A and two with B, in one of the six orders, drawn
// from the seed alone, so that a comparison that is continued, or run again with its seed, has the same order. Being
// second in a pair may slow a run down: it then slows both sides equally often, and the mean of all pairs does not
// move.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

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
