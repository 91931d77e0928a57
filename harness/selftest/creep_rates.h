// Which night the screen calls the last good one of a slow creep, and of a step. Simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/records/selftest_result.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/proportion.h"

namespace perfbench::harness {

// 80 nights, then 0.2 % slower every night. How many of `series` the screen finds within 30 nights with a last good
// night whose engine is at least 3 % faster than that night's: what 8 pairs find.
Proportion creeps_found(NoiseKind noise, std::size_t series, std::uint64_t seed);

// 120 nights, then a step of 3 %: how many of the screens that find it within 14 nights take it for a creep.
Proportion steps_called_creeps(NoiseKind noise, std::size_t series, std::uint64_t seed);

std::vector<SelftestResult> creep_rates(std::size_t series, std::uint64_t seed);

}  // namespace perfbench::harness
