// Amounts as people read them: units and digits in one place.
#pragma once

#include <cstdint>
#include <string>

namespace perfbench::reports {

// Binary units, three digits: "512 B", "1.50 KiB", "74.2 GiB".
std::string human_bytes(std::int64_t bytes);

// Decimal prefixes, three digits: "812", "124 M", "3.02 T" and, with a unit, "3.02 TFLOP".
std::string human_count(double value, const std::string& unit = "");

// A difference of times, three digits and always its sign: "+3.50 ms", "-812 ns".
std::string human_time_change(double ns);

}  // namespace perfbench::reports
