// Which side of a pair runs first: a coin a pair, from the seed alone, so that a comparison that is continued, or run
// again with its seed, throws the same coins. Independent coins keep the sign-flip test exact whatever being second in
// a pair does to a run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/ab/executed_pair.h"

namespace perfbench::harness {

// `cell` is an index, `number` counts the cell's pairs from 1.
Side first_side(std::uint64_t seed, std::size_t cell, std::size_t number);

// For a comparison without one: from the clock and the process. Below 2^53, so that JSON readers keep it whole.
std::uint64_t new_seed();

}  // namespace perfbench::harness
