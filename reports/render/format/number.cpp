#include "reports/render/format/number.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace perfbench::reports {
namespace {

std::string without_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string format_number(double value) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  constexpr int kSignificant = 4;
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::clamp(kSignificant - 1 - magnitude, 0, 12));
}

std::string format_number(const std::optional<double>& value) {
  return value ? format_number(*value) : kNothing;
}

std::string format_percent_number(double fraction) {
  const double percent = 100 * fraction;
  if (percent == 0 || std::abs(percent) >= 1 || !std::isfinite(percent)) return fmt::format("{:.1f}", percent);
  // Two significant digits below 1 %, so that a tiny model's utilisation is not "0.0".
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(percent))));
  return fmt::format("{:.{}f}", percent, std::clamp(1 - magnitude, 0, 12));
}

std::string format_percent(double fraction) {
  return format_percent_number(fraction) + " %";
}

std::string format_percent_change(double ratio, int decimals) {
  return fmt::format("{:+.{}f} %", 100 * (ratio - 1), decimals);
}

int decimals_of_change(double ratio_low, double ratio_high) {
  constexpr int kMost = 3;
  constexpr int kOfExactChange = 2;
  constexpr double kLargestOfTwoDigits = 3.55;
  const double half = 100 * (ratio_high - ratio_low) / 2;
  if (!std::isfinite(half)) return 1;
  if (half <= 0) return kOfExactChange;
  const auto magnitude = static_cast<int>(std::floor(std::log10(half)));
  const bool two_digits = half / std::pow(10, magnitude) < kLargestOfTwoDigits;
  return std::clamp((two_digits ? 1 : 0) - magnitude, 0, kMost);
}

std::string format_parameters(std::int64_t count) {
  struct Scale {
    double from;
    const char* suffix;
  };
  constexpr std::array kScales{Scale{1e12, "T"}, Scale{1e9, "B"}, Scale{1e6, "M"}, Scale{1e3, "K"}};
  const auto value = static_cast<double>(count);
  for (const auto& scale : kScales) {
    if (value < scale.from) continue;
    const double scaled = value / scale.from;
    return fmt::format("{:.{}f}{}", scaled, scaled < 9.95 ? 1 : 0, scale.suffix);
  }
  return fmt::format("{}", count);
}

std::string format_ratio(double value) {
  return without_trailing_zeros(fmt::format("{:.3f}", value));
}

namespace {

// Three digits, scaled by the largest prefix that leaves at least 1, also after rounding (999.6 is 1.00 of the next).
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

ShownUnit shown_unit(std::string_view unit, double smallest) {
  const double size = std::abs(smallest);
  if (unit == "s") {
    // Half a unit is still read well: 0.72 s, not 720 ms.
    if (size >= 0.5 || size == 0) return {"s", 1};
    return size >= 0.5e-3 ? ShownUnit{"ms", 1e3} : size >= 0.5e-6 ? ShownUnit{"us", 1e6} : ShownUnit{"ns", 1e9};
  }
  if (unit == "bytes") {
    static constexpr std::array kNames{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    std::size_t power = 0;
    double factor = 1;
    while (size * factor >= 1024 && power + 1 < kNames.size()) {
      factor /= 1024;
      ++power;
    }
    return {kNames[power], factor};
  }
  if (unit == "fraction") return {"%", 100};
  if (unit == "1" || unit == "count") return {"", 1};
  return {std::string(unit), 1};
}

std::string format_amount(double value, std::string_view unit) {
  if (unit == "fraction") return format_percent(value);
  const auto shown = shown_unit(unit, value);
  const double scaled_value = value * shown.factor;
  const bool is_whole = scaled_value == std::round(scaled_value) && std::abs(scaled_value) < 1e6;
  const auto number = is_whole                        ? fmt::format("{:.0f}", scaled_value)
                      : std::abs(scaled_value) >= 1e6 ? human_count(scaled_value)
                                                      : format_number(scaled_value);
  if (shown.name == "1/s") return number + "/s";
  return shown.name.empty() ? number : number + " " + shown.name;
}

std::string format_duration(double seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr double kLongest = 1e15;  // fits an integer
  const auto whole = static_cast<std::int64_t>(std::llround(seconds > 0 ? std::min(seconds, kLongest) : 0));
  if (whole < kMinute) return fmt::format("{} s", whole);
  if (whole < kHour) return fmt::format("{} min {:02} s", whole / kMinute, whole % kMinute);
  return fmt::format("{} h {:02} min", whole / kHour, whole % kHour / kMinute);
}

std::string human_time_change(double ns) {
  static constexpr std::array kPrefixes{"n", "u", "m", ""};
  return (std::signbit(ns) ? "" : "+") + scaled(ns, 1000, kPrefixes, "s");
}

}  // namespace perfbench::reports
