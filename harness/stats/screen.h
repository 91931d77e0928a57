// Nightly screen of a series: did its level shift within the last nights? Pure functions of the series.
//
// The statistic is the likelihood ratio of a shift k nights ago, k = 1..14, against no shift. It uses the last k nights
// and up to 40 nights before them. Values are clipped ("Huberised") at 4 robust deviations. The noise is modelled as
// AR(1) with an estimated coefficient, so that a slowly wandering series is not judged by the scale of independent
// nights. With a coefficient of 0 the statistic is the difference of the two means over its standard error. The noise
// is estimated from up to 120 nights before the last 14.
//
// Each series has its own threshold. It comes from the same statistic, with all estimates repeated, on series drawn
// with replacement from the innovations of the segment, including its spikes and its skew. While fewer than
// `enough_known` nights are known, the threshold is no lower than for Gaussian series of the same length and
// coefficient, because a short segment has not shown its extremes yet. It is never lower than for a handful of
// independent looks at Gaussian nights of known noise. An unchanged series exceeds it about `screens_per_year` times a
// year, where consecutive nights count once. Each of these triggers a paired comparison, so that it costs machine time
// but raises no alert. A matrix has a budget of such comparisons (ScreenBudget): the more series it has, the larger a
// shift each of them has to show.
//
// One night alone can be enough. The clipped values would ask for a second night, but a newest night need not wait if
// it deviates from its prediction by more than every night of the reference did. The largest of n + 1 nights is the
// newest one once in n + 1 nights, whatever their distribution: three times a year for the longest reference. In a
// shorter reference, or to be rarer than `record_nights_per_year`, it has to be larger by the factor that makes it as
// rare if the tails fall with the power `tail_power` of the distance. Where nights have no tails a record means little;
// then Student's t applies.
//
// Where the newest nights scatter more than those before (harness/stats/noise_change.h), a shift has to be larger by
// the same ratio: the threshold follows the noise at once, and not as the reference fills with it.
//
// A shift that is part of a creep (harness/stats/creep.h) has its last good night before the creep, up to `most_recent`
// + `most_before` nights ago: the nights between differ by too little for pairs of them to show it.
//
// The clipped values find a shift; its first night is where the unclipped values step. A shift whose last nights are
// back at the previous level is over, and tonight's screen does not report it.
//
// The screen needs 13 nights: with fewer than 12 before a shift the spread is too uncertain. Below 26 nights, it
// searches fewer than the last 14.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "harness/stats/screen_rule.h"

namespace perfbench::harness {

// The newest nights, on which alone a decision depends, whatever came before them.
std::span<const double> nights_screened(std::span<const double> logs, const ScreenRule& rule = {});

// The shift that fits the end of a series best, whether it is significant or not.
struct ShiftScore {
  std::size_t first = 0;  // index of the first shifted night
  double sigma = 0;       // between-night standard deviation, robust, log units
  double score = 0;       // standard errors
};

// nullopt for fewer than fewest_before + 1 nights.
std::optional<ShiftScore> largest_shift(std::span<const double> logs, const ScreenRule& rule);

struct ScreenFinding {
  std::size_t first = 0;  // index of the first shifted night
  std::size_t good = 0;   // index of the last good night: the previous one, or the last before a creep
  double creep_log = 0;   // change each night in a creep; 0: no creep
  double shift_log = 0;   // median since then minus the median of up to 40 nights before
  double sigma = 0;       // between-night standard deviation, log units
  double score = 0;       // standard errors or, for a single night, standard deviations; above the threshold
  double threshold = 0;
};

// Screens one segment: one value a night, oldest first, with the control already subtracted. Nights without a value are
// left out.
std::optional<ScreenFinding> screen(const std::vector<double>& logs, const ScreenRule& rule = {});

// Moves a series whose level shifted for a known reason to its present level. Otherwise both levels would inflate its
// noise, and the known shift would hide the next one. A pure function. The nights before each shift move by (median of
// the first `most_recent` nights since the shift - median of the `most_before` nights before it). The nights since a
// shift count only up to the next shift. `first_shifted` holds indices of first shifted nights in any order. 0, an
// index past the end and a repeated index change nothing.
std::vector<double> at_newest_level(std::vector<double> logs, std::span<const std::size_t> first_shifted,
                                    const ScreenRule& rule = {});

}  // namespace perfbench::harness
