// Times of day, always UTC: "2026-01-31T12:00:00Z". Such texts sort as the moments they name.
#pragma once

#include <string>

namespace perfbench::harness {

std::string utc_now();

// "2026-01-31" (midnight) or the whole form, as the whole form. Throws InputError for anything else, and for a day that
// the calendar does not have.
std::string parse_utc(const std::string& text);

}  // namespace perfbench::harness
