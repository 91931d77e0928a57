// Times of day, always UTC: "2026-01-31T12:00:00Z". Such texts sort as the moments they name.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace perfbench::harness {

std::string utc_now();

// "2026-01-31" (midnight) or the whole form, as the whole form. Throws InputError for anything else, and for a day that
// the calendar does not have.
std::string parse_utc(const std::string& text);

// The day of such a text, and the same time of another day. They throw as parse_utc does.
std::chrono::year_month_day day_of(const std::string& utc);
std::string on_day(const std::string& utc, std::chrono::year_month_day day);

// Days from 1970-01-01 to the day of such a text; nothing where it names none.
std::optional<std::int64_t> day_number(const std::string& utc);

}  // namespace perfbench::harness
