// Formats numbers for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace perfbench::reports {

inline constexpr const char* kNothing = "-";

// Four significant digits without an exponent: 0.7214, 12.34, 1234. Zero, infinity and NaN print as such.
std::string format_number(double value);
std::string format_number(const std::optional<double>& value);  // kNothing without a value

// One decimal; two significant digits below 1 %.
std::string format_percent(double fraction);                        // 0.41623 -> "41.6 %", 0.00144 -> "0.14 %"
std::string format_percent_number(double fraction);                 // 0.41623 -> "41.6"
std::string format_percent_change(double ratio, int decimals = 1);  // 1.0321 -> "+3.2 %"
// The decimals that the interval of a change justifies: two significant digits of half its width if they are at most
// 35, otherwise one (Particle Data Group, Review of Particle Physics, "Rounding"). From 0 to 3; 1 for an infinite
// interval, and 2 for one without width.
int decimals_of_change(double ratio_low, double ratio_high);
// As in the names of models: 6738415616 -> "6.7B", 84000000 -> "84M", 950 -> "950".
std::string format_parameters(std::int64_t parameters);

// "1", "0.5", "2.25": a batch per device need not be an integer.
std::string format_ratio(double value);

// Amounts with units. Binary units, three digits: "512 B", "1.50 KiB", "74.2 GiB".
std::string human_bytes(std::int64_t bytes);

// Decimal prefixes, three digits: "812", "124 M", "3.02 T" and, with a unit, "3.02 TFLOP".
std::string human_count(double value, const std::string& unit = "");

// How amounts in a unit of the metric catalog (s, bytes, fraction) are shown: a value times `factor`, then `name`.
struct ShownUnit {
  std::string name;
  double factor = 1;
};
// For values from `smallest` on: 0.0125 s in ms, 3e9 bytes in GiB, fractions in %. Other units stay.
ShownUnit shown_unit(std::string_view unit, double smallest);
// Four significant digits in the unit for this value: "12.50 ms", "2.794 GiB", "41.6 %".
std::string format_amount(double value, std::string_view unit);

// Whole seconds: "42 s", "3 min 05 s", "2 h 07 min".
std::string format_duration(double seconds);

// A difference of times, three digits and always with its sign: "+3.50 ms", "-812 ns".
std::string human_time_change(double ns);

}  // namespace perfbench::reports
