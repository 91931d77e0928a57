#include "reports/render/format/escape.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "reports/render/format/shown.h"

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
  // Some CI runners execute a line that begins with "::"; a quote in front prevents that.
  if (field.find_first_of(",\"") == std::string::npos && field.find("::") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

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

std::string shell_word(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_=.,:/@%+-").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string with_escapes(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    if (const auto same = plain_length(json.substr(at)); same > 0) {
      out.append(json, at, same);
      at += same;
      continue;
    }
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
