#include "harness/system/utc.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "harness/system/input_error.h"

namespace perfbench::harness {
namespace {

constexpr std::size_t kDateLength = 10;
constexpr std::size_t kWholeLength = 20;

struct Moment {
  std::chrono::year_month_day day;
  std::string whole;  // the text completed with a time of day
};

Moment read(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  int used_date = 0;
  int used = 0;
  const int found = std::sscanf(text.c_str(), "%4d-%2u-%2u%nT%2u:%2u:%2uZ%n", &year, &month, &day, &used_date, &hour,
                                &minute, &second, &used);
  const bool date = found == 3 && text.size() == kDateLength && used_date == static_cast<int>(kDateLength);
  const bool whole = found == 6 && text.size() == kWholeLength && used == static_cast<int>(kWholeLength);
  const std::chrono::year_month_day calendar{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!(date || whole) || !calendar.ok() || hour > 23 || minute > 59 || second > 59) {
    throw InputError("[time] '" + text + "' is not a date such as 2026-01-31 or a time such as 2026-01-31T12:00:00Z");
  }
  return {.day = calendar, .whole = date ? text + "T00:00:00Z" : text};
}

}  // namespace

std::string utc_now() {
  return utc_in(std::chrono::seconds(0));
}

std::string utc_in(std::chrono::seconds from_now) {
  const std::time_t then = std::time(nullptr) + from_now.count();
  std::tm parts{};
  ::gmtime_r(&then, &parts);
  char text[sizeof "2026-01-31T12:00:00Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string parse_utc(const std::string& text) {
  return read(text).whole;
}

std::chrono::year_month_day day_of(const std::string& utc) {
  return read(utc).day;
}

std::optional<std::int64_t> day_number(const std::string& utc) {
  try {
    return std::chrono::sys_days(read(utc).day).time_since_epoch().count();
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::string date_of(const std::string& utc) {
  return utc.substr(0, kDateLength);
}

std::string on_day(const std::string& utc, std::chrono::year_month_day day) {
  return fmt::format("{:04}-{:02}-{:02}{}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()), read(utc).whole.substr(kDateLength));
}

}  // namespace perfbench::harness
