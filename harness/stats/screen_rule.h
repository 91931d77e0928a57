// How often the nightly screen (harness/stats/screen.h) may speak without cause, and which nights it looks at.
#pragma once

#include <cstddef>
#include <cstdint>

namespace perfbench::harness {

inline constexpr double kNightsPerYear = 365.25;

struct ScreenRule {
  double screens_per_year = 2;
  std::size_t most_recent = 14;
  std::size_t most_before = 40;
  std::size_t most_reference = 120;
  std::size_t fewest_before = 12;
  double clip_deviations = 4;
  std::size_t enough_known = 100;     // nights of a reference that is long enough
  double record_nights_per_year = 3;  // for nights with tails
  double tail_power = 4;
  double lone_nights_per_year = 0.25;     // for Gaussian nights
  double noisier_nights_per_year = 0.25;  // of an unchanged series: it seems to scatter more (noise_change.h)
  double return_deviations = 3;   // of the newest nights from the shifted level, in standard errors, where it is over
  double smallest_sigma = 2e-4;   // log units: in a series that repeats exactly, shifts below 0.1 % are not reported
  std::size_t draws = 2000;       // number of series that are simulated for a threshold
  std::uint64_t seed = 20240229;  // of the draws: the same nights always give the same answer
};

// How many false screens a night may have, over all series of a matrix together.
struct ScreenBudget {
  double screens_per_night = 0.2;
};

// The rule for a series that may have this share of the rule's false screens, at most 1.
ScreenRule with_share(ScreenRule rule, double share);

// The rule for each of `series` series, a number that need not be whole, as series may share the screens of one. It is
// `rule` as long as all of them stay within the budget. Beyond it they share the budget equally, so that each has to
// show a larger shift.
ScreenRule rule_within(const ScreenBudget& budget, double series, ScreenRule rule = {});

}  // namespace perfbench::harness
