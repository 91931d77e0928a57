#include "reports/format/csv_field.h"

#include "reports/format/shown.h"

namespace perfbench::reports {
namespace {

bool is_formula(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return false;
  const char c = text[first];
  if (c == '=' || c == '@') return true;
  return (c == '+' || c == '-') && text.find_first_not_of("0123456789.e+-% ", first) != std::string_view::npos;
}

}  // namespace

std::string csv_field(std::string_view text) {
  auto field = shown(text);
  if (is_formula(field)) field.insert(0, 1, '\'');
  // A line that begins with "::" is a command to some CI runners, one that begins with a quote is not.
  if (field.find_first_of(",\"") == std::string::npos && field.find("::") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace perfbench::reports
