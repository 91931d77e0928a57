// How many comparisons the screen of a large matrix starts, and how many nights its budget of screens costs until a
// shift is found (ScreenBudget of harness/stats/screen.h). Simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/records/selftest_result.h"
#include "harness/stats/screen.h"

namespace perfbench::harness {

// 200 cells with three metrics each, of Gaussian, AR(1) 0.6 and spiky noise.
inline constexpr std::size_t kCellsOfMatrix = 200;
inline constexpr std::size_t kSeriesOfMatrix = 3 * kCellsOfMatrix;

// Screens a night of all its unchanged series, estimated from `cell_years` years of one cell.
SelftestResult screens_a_night(const ScreenRule& rule, std::size_t cell_years, std::uint64_t seed);

// Screens a cell-year of the median and the mean step together: both Gaussian, with half of their variance in common. A
// night on which either is screened costs one comparison.
SelftestResult screens_of_both_steps(const ScreenRule& of_median, const ScreenRule& of_mean, std::size_t cell_years,
                                     std::uint64_t seed);

// Screens a night within the budget, and of the two step times. Then, by the size of a shift, how often the screen of
// one Gaussian series finds it within three nights: of a single cell, and of a cell of that matrix.
std::vector<SelftestResult> budget_rates(std::size_t series, std::size_t cell_years, std::uint64_t seed);

}  // namespace perfbench::harness
