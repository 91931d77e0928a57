// How the screen treats a series that begins to scatter twice as much, and how often it says so of an unchanged one.
// Simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/records/selftest_result.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/proportion.h"

namespace perfbench::harness {

// 120 nights, then nights whose noise is twice as large: how many series are called noisier within 40 of them.
Proportion doubled_noise_found(NoiseKind noise, std::size_t series, std::uint64_t seed);

// Screens in the year after the noise doubled, nights in a row counted once.
SelftestResult screens_after_doubled_noise(NoiseKind noise, std::size_t series_years, std::uint64_t seed);

// Nights of a year on which an unchanged series is called noisier.
SelftestResult noisier_nights(NoiseKind noise, std::size_t series_years, std::uint64_t seed);

std::vector<SelftestResult> noise_change_rates(std::size_t series, std::size_t series_years, std::uint64_t seed);

}  // namespace perfbench::harness
