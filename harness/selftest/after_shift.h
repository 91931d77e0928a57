// Simulates how well the nightly screen (harness/stats/screen.h) works once a shift of the same series is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/records/selftest_result.h"

namespace perfbench::harness {

// Nights before the first shift.
inline constexpr std::size_t kNightsBeforeShift = 80;

struct TwoShifts {
  std::string name;
  double first_ratio = 1;
  double second_ratio = 1;         // relative to the level after the first shift
  std::size_t nights_between = 0;  // from the first night of the first shift to that of the second
};

enum class FirstShift { accepted, ignored };

// Simulates `series` series with Gaussian noise of kNightDeviation. Returns in how many of them the screen finds the
// second shift within three nights, in its direction. The first shift is accepted with the date that the screen gives
// it, on the first night on which this date is not after the shift: pairs with a last good engine from before the shift
// confirm it, and refute later dates. A shift that is not found within kMostDelay nights is accepted with its true
// date.
double second_shift_found(const TwoShifts& shifts, FirstShift first, std::size_t series, std::uint64_t seed);

// The rows of all these simulations, and how often the screen reports a shift in the year after an accepted one without
// another shift.
std::vector<SelftestResult> after_shift_rates(std::size_t series, std::size_t series_years, std::uint64_t seed);

}  // namespace perfbench::harness
