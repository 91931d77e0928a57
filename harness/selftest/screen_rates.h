// False alarms and delay of the nightly screen (harness/stats/screen.h) on simulated series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/records/selftest_result.h"
#include "harness/selftest/simulation.h"
#include "harness/stats/screen.h"

namespace perfbench::harness {

// Nights before the first that counts: what the screen knows of a series.
inline constexpr std::size_t kHistoryNights = 120;
inline constexpr std::size_t kYear = 365;  // nights
// Between-night deviation of all simulated series, log units.
inline constexpr double kNightDeviation = 0.01;
// Nights after a shift that are waited for its alarm.
inline constexpr std::size_t kMostDelay = 20;

// A level of 0, noise of the kind, and from night `first_shifted` on `shift_sigma` deviations more.
struct SeriesPlan {
  NoiseKind noise = NoiseKind::gaussian;
  std::size_t nights = kHistoryNights;
  std::size_t first_shifted = 0;  // nights: none is
  double shift_sigma = 0;
};
std::vector<double> simulate_series(const SeriesPlan& plan, std::uint64_t seed, std::uint64_t index);

// The nights n >= kHistoryNights on which the screen speaks, from the nights before and the night itself.
enum class Screening { all_nights, until_it_speaks };
std::vector<std::size_t> screened_nights(const std::vector<double>& series, Screening how);

// The row of a mean of independent series, with Student's interval, cut at 0.
SelftestResult mean_of_years(NoiseKind kind, std::string measure, const std::vector<double>& counts);

// Screens a year of an unchanged series, nights in a row counted once, and after the same night's confirmation by a
// paired comparison of 8 pairs whose A/A rates, one for each of kNoiseKinds, are given. The latter counts every night:
// the comparison is then repeated as long as the screen speaks, which is the most that can happen.
std::vector<SelftestResult> false_alarms(std::size_t series_years, const std::vector<SelftestResult>& aa,
                                         std::uint64_t seed);

// Nights from a shift to its alarm, the first shifted night is 1; kMostDelay + 1 stands for more. Median, with the
// order statistics around it that hold it with 95 %.
std::vector<SelftestResult> delays(std::size_t series, std::uint64_t seed);

}  // namespace perfbench::harness
