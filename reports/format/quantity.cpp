#include "reports/format/quantity.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <span>

namespace perfbench::reports {
namespace {

// Three digits, scaled by the largest prefix that leaves at least 1; also after rounding (999.6 is 1.00 of the next).
std::string scaled(double value, double step, std::span<const char* const> prefixes, const std::string& unit) {
  std::size_t prefix = 0;
  while (std::abs(value) >= step * 0.9995 && prefix + 1 < prefixes.size()) {
    value /= step;
    ++prefix;
  }
  const double size = std::abs(value);
  const int decimals = prefix == 0 ? 0 : size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  const std::string tail = std::string(prefixes[prefix]) + unit;
  return fmt::format("{:.{}f}{}{}", value, decimals, tail.empty() ? "" : " ", tail);
}

}  // namespace

std::string human_bytes(std::int64_t bytes) {
  static constexpr std::array kPrefixes{"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  return scaled(static_cast<double>(bytes), 1024, kPrefixes, "B");
}

std::string human_count(double value, const std::string& unit) {
  static constexpr std::array kPrefixes{"", "k", "M", "G", "T", "P", "E"};
  return scaled(value, 1000, kPrefixes, unit);
}

std::string human_time_change(double ns) {
  static constexpr std::array kPrefixes{"n", "u", "m", ""};
  return (std::signbit(ns) ? "" : "+") + scaled(ns, 1000, kPrefixes, "s");
}

}  // namespace perfbench::reports
