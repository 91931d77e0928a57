// Nightly screen of a series: did its level shift within the last nights? Pure functions of the series.
//
// The likelihood ratio of a shift k nights ago, k = 1..14, against no shift, from the last k nights and up to 40
// before. Values are clipped ("Huberised") at 4 robust deviations. The noise is taken for AR(1) with its coefficient
// estimated, so that a slowly wandering series is not held to the scale of independent nights; with a coefficient of 0
// this is the difference of the two means over its standard error. Noise is estimated from up to 120 nights before the
// last 14.
//
// The threshold is the series' own: what the same statistic reaches, with every estimate taken anew, on series made of
// the segment's own innovations (drawn with replacement), spikes and skew included. While fewer than `enough_known`
// nights are known, it is no lower than what Gaussian series of the same length and coefficient reach: a short segment
// has not shown yet what it can do. Nor is it ever lower than for a handful of independent looks at Gaussian nights
// of known noise. It is met about `screens_per_year` times in a year of an unchanged series, counting nights in a row
// once: each is answered by a paired comparison, so that it costs machine time and no alert.
//
// A newest night farther from what the night before lets expect than every night of the reference was need not wait for
// a second one, which the clipped values would ask for. The largest of n + 1 nights is the newest once in n + 1 nights
// whatever their distribution is: three times a year for the longest reference. In a shorter one, or for less than
// `record_nights_per_year`, it has to be larger by the factor that makes it as rare where tails fall with the power
// `tail_power` of the distance. Of nights without tails a record means little: they are held to Student's t.
//
// The clipped values find a shift; its first night is where the unclipped ones have their step. A shift whose last
// nights are back at the level of before is over, and no shift of tonight.
//
// Needs 13 nights: with fewer than 12 before a shift the spread is not known well enough to speak of one. Until there
// are 26, fewer than the last 14 nights are searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace perfbench::harness {

struct ScreenRule {
  double screens_per_year = 2;
  std::size_t most_recent = 14;
  std::size_t most_before = 40;
  std::size_t most_reference = 120;
  std::size_t fewest_before = 12;
  double clip_deviations = 4;
  std::size_t enough_known = 100;     // nights of the reference
  double record_nights_per_year = 3;  // of nights with tails
  double tail_power = 4;
  double lone_nights_per_year = 0.25;  // of Gaussian nights
  double return_deviations = 3;        // of the newest nights from the shifted level, in standard errors: it is over
  double smallest_sigma = 2e-4;        // log units: a series that repeats exactly is not screened for less than 0.1 %
  std::size_t draws = 2000;            // series simulated for a threshold
  std::uint64_t seed = 20240229;       // of these: the same nights always give the same answer
};

// The newest of them, which are all that a decision looks at: the same nights whatever came before.
std::span<const double> nights_screened(std::span<const double> logs, const ScreenRule& rule = {});

// The shift that fits the end of a series best, whether or not it means anything.
struct ShiftScore {
  std::size_t first = 0;  // index of the first shifted night
  double sigma = 0;       // between-night standard deviation, robust, log units
  double score = 0;       // standard errors
};

// Nothing for fewer than fewest_before + 1 nights.
std::optional<ShiftScore> largest_shift(std::span<const double> logs, const ScreenRule& rule);

struct ScreenFinding {
  std::size_t first = 0;  // index of the first shifted night
  double shift_log = 0;   // median since then minus median of up to 40 nights before
  double sigma = 0;       // between-night standard deviation, log units
  double score = 0;       // standard errors, of a night alone standard deviations; above the threshold
  double threshold = 0;
};

// One segment, a night each, oldest first, control already subtracted. A night without a value is simply not there.
std::optional<ScreenFinding> screen(const std::vector<double>& logs, const ScreenRule& rule = {});

// A series whose level shifted for a known reason, moved to the level that it has now. Without it both levels of the
// series inflate its noise, and the next shift drowns in the one that everybody knows. Pure functions of numbers.
// Moves the nights before each shift by (median of the first `most_recent` nights since the shift - median of the
// `most_before` nights before it). A night since the shift counts up to the next shift only. `first_shifted` are
// indices of first shifted nights in any order; 0, an index past the end and a repeated one move nothing.
std::vector<double> at_newest_level(std::vector<double> logs, std::span<const std::size_t> first_shifted,
                                    const ScreenRule& rule = {});

}  // namespace perfbench::harness
