// Times in UTC: "2026-01-31T12:00:00Z". Such texts sort in the order of time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace perfbench::harness {

std::string utc_now();
// The time after these seconds.
std::string utc_in(std::chrono::seconds from_now);

// Takes "2026-01-31" (midnight) or the whole form, and returns the whole form. Throws InputError for anything else, and
// for a day that does not exist in the calendar.
std::string parse_utc(const std::string& text);

// The day of such a text, and the same time on another day. They throw as parse_utc does.
std::chrono::year_month_day day_of(const std::string& utc);
std::string on_day(const std::string& utc, std::chrono::year_month_day day);

// "2026-01-31" of such a text. Other texts are cut, too: for a reader.
std::string date_of(const std::string& utc);

// Days from 1970-01-01 to the day of such a text; nullopt if the text has another form.
std::optional<std::int64_t> day_number(const std::string& utc);

}  // namespace perfbench::harness
