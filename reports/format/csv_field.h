// One field of a CSV line (RFC 4180).
#pragma once

#include <string>
#include <string_view>

namespace perfbench::reports {

// As shown() shows it, so that a record is a line of printable text; in quotes where the text holds what separates
// fields or a quote. Spreadsheets compute what begins with "=", "@", "+" or "-": such text gets an apostrophe in front,
// which they take for "this is text", unless it is an amount such as "-3.2 %". JSON has the text as it is.
std::string csv_field(std::string_view text);

}  // namespace perfbench::reports
