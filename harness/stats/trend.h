// A trend within a run: its steps become slower, or faster, from beginning to end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::harness {

// The change that the trend makes from the first value of the series to the last, divided by the median. It is the
// median slope of all pairs of values (Theil, 1950; Sen, J. Am. Stat. Assoc. 63, 1968, p. 1379) times the number of
// intervals. 0 where Mann and Kendall's two-sided test finds no trend at 0.01. A tenth of the values may be outliers
// without changing either. A long series is first reduced to medians of equal pieces. nullopt for fewer than 8 values,
// or a median that is not positive.
std::optional<double> trend_fraction(const std::vector<double>& values);

// A trend above this is reported: a longer run would have another step time.
inline constexpr double kNotableTrend = 0.05;

// "its steps became 32.0 % slower during a run", from the median of the trends of its runs. Empty if there is no
// notable trend.
std::string trend_text(const std::vector<double>& trends);

// "B: its steps became 32.0 % slower during a run; longer runs may differ in another way": the note that a verdict
// applies to runs of this length. Empty if there is no notable trend.
std::string trend_note(std::string_view whose, const std::vector<double>& trends);

}  // namespace perfbench::harness
