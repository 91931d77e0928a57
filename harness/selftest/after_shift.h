// What the nightly screen still finds once a shift of the same series is known (harness/stats/screen.h), simulated.
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
  double second_ratio = 1;         // of the level after the first
  std::size_t nights_between = 0;  // from the first shifted night of one to that of the other
};

enum class FirstShift { accepted, ignored };

// Of `series` with Gaussian noise of kNightDeviation, how many the second shift is found in within three nights, in its
// direction. The first one is accepted with the night that the screen dates it to, on the first night whose date is not
// after the shift: pairs of a last good engine from before the shift confirm it. What the screen dates later they
// refute. One that is not found within kMostDelay nights is accepted as it was.
double second_shift_found(const TwoShifts& shifts, FirstShift first, std::size_t series, std::uint64_t seed);

// The rows of all that, and how often the screen speaks in the year after an accepted shift without another.
std::vector<SelftestResult> after_shift_rates(std::size_t series, std::size_t series_years, std::uint64_t seed);

}  // namespace perfbench::harness
