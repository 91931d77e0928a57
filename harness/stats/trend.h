// A trend within a run: steps that become slower, or quicker, while it goes on.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace perfbench::harness {

// How far the trend moved the series from its first value to its last, over its median: the median slope of all pairs
// of values (Theil, 1950; Sen, J. Am. Stat. Assoc. 63, 1968, p. 1379) times the number of intervals. 0 where Mann and
// Kendall's two-sided test finds no trend at 0.01. A tenth of the values may be outliers without a change of either.
// Of a long series medians of equal pieces are taken. Nothing for fewer than 8 values, or a median that is not
// positive.
std::optional<double> trend_fraction(const std::vector<double>& values);

// Above it a trend is worth a sentence: a longer run would have another step time.
inline constexpr double kNotableTrend = 0.05;

// "its steps became 32.0 % slower during a run", of the median of its runs' trends. Empty: nothing to say.
std::string trend_text(const std::vector<double>& trends);

}  // namespace perfbench::harness
