// One field of a CSV line (RFC 4180).
#pragma once

#include <string>

namespace perfbench::reports {

// In quotes where the text holds what separates fields or lines, or a quote.
std::string csv_field(const std::string& text);

}  // namespace perfbench::reports
