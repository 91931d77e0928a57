// A series whose level shifted for a known reason, moved to the level that it has now. Without it both levels of the
// series inflate its noise, and the next shift drowns in the one that everybody knows. Pure functions of numbers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/stats/screen.h"

namespace perfbench::harness {

// Moves the nights before each shift by (median of the first `most_recent` nights since the shift - median of the
// `most_before` nights before it). A night since the shift counts up to the next shift only. `first_shifted` are
// indices of first shifted nights in any order; 0, an index past the end and a repeated one move nothing.
std::vector<double> at_newest_level(std::vector<double> logs, std::span<const std::size_t> first_shifted,
                                    const ScreenRule& rule = {});

}  // namespace perfbench::harness
