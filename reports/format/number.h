// Numbers of the report tables as people read them. Amounts with units are quantity.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace perfbench::reports {

inline constexpr const char* kNothing = "-";

// Four significant digits without an exponent: 0.7214, 12.34, 1234. Zero, the infinities and NaN print as such.
std::string format_number(double value);
std::string format_number(const std::optional<double>& value);  // kNothing without one

// One digit after the point; below 1 % two significant digits.
std::string format_percent(double fraction);         // 0.41623 -> "41.6 %", 0.00144 -> "0.14 %"
std::string format_percent_number(double fraction);  // 0.41623 -> "41.6"
std::string format_percent_change(double ratio);     // 1.0321 -> "+3.2 %"
// As models are named: 6738415616 -> "6.7B", 84000000 -> "84M", 950 -> "950".
std::string format_parameters(std::int64_t parameters);

// "1", "0.5", "2.25": a batch per device need not be whole.
std::string format_ratio(double value);

}  // namespace perfbench::reports
