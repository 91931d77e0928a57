#include "reports/format/json_text.h"

#include <fmt/core.h>

#include "reports/format/code_point.h"
#include "reports/format/shown.h"

namespace perfbench::reports {

std::string with_escapes(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const auto [c, bytes] = code_point_at(json, at);
    const bool is_escaped = bytes > 0 && c != '\n' && (!is_plain(c) || is_runner_command(json, at));
    if (is_escaped) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out.append(json, at, bytes);
    }
    at += bytes == 0 ? 1 : bytes;
  }
  return out;
}

}  // namespace perfbench::reports
