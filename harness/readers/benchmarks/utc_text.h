// Times as texts in UTC, such as 2026-01-31T12:00:00Z.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace perfbench::readers {

// "2026-11-27T12:00:00.25+02:00" as UTC, without fractions; a time without a zone counts as UTC. Empty for anything
// else.
std::string utc_of(std::string_view iso_time);
// The same of seconds since 1970; empty for a year of more than four digits.
std::string utc_of_seconds(std::int64_t seconds);

}  // namespace perfbench::readers
