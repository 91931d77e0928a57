#include "reports/format/xml_text.h"

#include <string_view>

#include "reports/format/code_point.h"

namespace perfbench::reports {

std::string xml_text(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, bytes] = code_point_at(text, at);
    const bool is_character = bytes > 0 && c != 0xFFFE && c != 0xFFFF;
    out += is_character ? std::string_view(text).substr(at, bytes) : kReplacement;
    at += bytes > 0 ? bytes : 1;
  }
  return out;
}

}  // namespace perfbench::reports
