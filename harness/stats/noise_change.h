// Whether a series began to scatter more from night to night than it did. Pure functions of numbers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/stats/screen_rule.h"

namespace perfbench::harness {

struct NoiseChange {
  std::size_t since = 0;  // index of the first of the newest nights, which are compared with those before
  double ratio = 1;       // of their deviations from night to night
  double threshold = 1;   // what an unchanged series reaches
};

// Compares the squared differences of successive nights: of the newest 30, and of up to 120 nights before. A fifth of
// both, the largest, is left out: neither a step nor a spike is noise. The threshold is the series' own, simulated as
// that of a shift is, and reached on `noisier_nights_per_year` nights of an unchanged series. Nothing for fewer than 70
// nights.
std::optional<NoiseChange> find_noise_change(std::span<const double> logs, const ScreenRule& rule = {});

// By how much the newest of these nights scatter more than those before, whether or not chance explains it: what the
// screen's threshold grows by. 1 for less than 1.5 times as much, and for fewer than 120 nights.
double newest_scatter(std::span<const double> logs, const ScreenRule& rule = {});

}  // namespace perfbench::harness
