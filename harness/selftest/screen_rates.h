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

// Nights before the first one that counts: the history that the screen knows.
inline constexpr std::size_t kHistoryNights = 120;
inline constexpr std::size_t kYear = 365;  // nights
// Between-night deviation of all simulated series, log units.
inline constexpr double kNightDeviation = 0.01;
// Nights after a shift within which its alarm counts.
inline constexpr std::size_t kMostDelay = 20;

// A level of 0 with noise of the kind, and `shift_sigma` deviations more from night `first_shifted` on.
struct SeriesPlan {
  NoiseKind noise = NoiseKind::gaussian;
  std::size_t nights = kHistoryNights;
  std::size_t first_shifted = 0;  // the number of nights: there is no shift
  double shift_sigma = 0;
};
std::vector<double> simulate_series(const SeriesPlan& plan, std::uint64_t seed, std::uint64_t index);

// The nights n >= kHistoryNights on which the screen reports a shift, from that night and the nights before it.
enum class Screening { all_nights, until_it_speaks };
std::vector<std::size_t> screened_nights(const std::vector<double>& series, Screening how, const ScreenRule& rule = {});
// How many screens these nights are: nights in a row are one.
double count_screens(const std::vector<std::size_t>& nights);

// The row of a mean over independent series, with Student's interval, limited to 0 and above.
SelftestResult mean_of_years(NoiseKind kind, std::string measure, const std::vector<double>& counts);

// Screens a year of an unchanged series. Counts alarms, with consecutive nights counted once, and alarms that a paired
// comparison of 8 pairs in the same night confirms; `aa` has the A/A rates of that comparison, one for each of
// kNoiseKinds. The latter counts every night, because the comparison is repeated while the screen reports the shift:
// the result is an upper bound.
std::vector<SelftestResult> false_alarms(std::size_t series_years, const std::vector<SelftestResult>& aa,
                                         std::uint64_t seed);

// Nights from a shift to its alarm, counted from 1 for the first shifted night; kMostDelay + 1 stands for more. The
// median, with the order statistics around it that contain it with 95 %.
std::vector<SelftestResult> delays(std::size_t series, std::uint64_t seed);

}  // namespace perfbench::harness
