#include "harness/readers/benchmarks/utc_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>

namespace perfbench::readers {

std::string utc_of_seconds(std::int64_t seconds) {
  constexpr std::int64_t kSecondsPerDay = 86400;
  constexpr std::int64_t kFirst = -62'167'219'200;  // of year 0, whose texts have four digits
  constexpr std::int64_t kLast = 253'402'300'799;   // of year 9999
  if (seconds < kFirst || seconds > kLast) return {};
  const auto days = (seconds >= 0 ? seconds : seconds - (kSecondsPerDay - 1)) / kSecondsPerDay;
  const auto rest = seconds - days * kSecondsPerDay;
  const std::chrono::year_month_day day{std::chrono::sys_days(std::chrono::days(days))};
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()), static_cast<int>(rest / 3600),
                static_cast<int>(rest / 60 % 60), static_cast<int>(rest % 60));
  return text.data();
}

namespace {

// The next digits as a number; -1 if there are fewer.
int digits(std::string_view& text, std::size_t count) {
  int value = 0;
  if (text.size() < count) return -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + count, value);
  if (error != std::errc() || end != text.data() + count || value < 0) return -1;
  text.remove_prefix(count);
  return value;
}

bool skip(std::string_view& text, std::string_view letters) {
  if (text.empty() || letters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Seconds east of UTC, from "Z", "+02:00", "-0530" or nothing. nullopt for anything else.
std::optional<std::int64_t> zone_s(std::string_view text) {
  if (text.empty() || text == "Z") return 0;
  const int sign = text.front() == '-' ? -1 : 1;
  if (!skip(text, "+-")) return std::nullopt;
  const int hours = digits(text, 2);
  skip(text, ":");
  const int minutes = text.empty() ? 0 : digits(text, 2);
  if (hours < 0 || minutes < 0 || !text.empty()) return std::nullopt;
  return sign * (hours * 3600 + minutes * 60);
}

}  // namespace

std::string utc_of(std::string_view text) {
  const int year = digits(text, 4);
  if (!skip(text, "-")) return {};
  const int month = digits(text, 2);
  if (!skip(text, "-")) return {};
  const int day = digits(text, 2);
  if (!skip(text, "T ")) return {};
  const int hour = digits(text, 2);
  if (!skip(text, ":")) return {};
  const int minute = digits(text, 2);
  if (!skip(text, ":")) return {};
  const int second = digits(text, 2);
  if (skip(text, ".,")) text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  const auto zone = zone_s(text);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  const bool is_time = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second <= 60;
  if (year < 0 || !date.ok() || !is_time || !zone) return {};
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return utc_of_seconds(days * 86400 + hour * 3600 + minute * 60 + second - *zone);
}

}  // namespace perfbench::readers
