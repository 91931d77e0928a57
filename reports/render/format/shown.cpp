#include "reports/render/format/shown.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace perfbench::reports {
namespace {

struct Lead {
  unsigned char mask, value;
  std::size_t bytes;
  char32_t smallest;  // a longer encoding of a smaller code point is not valid UTF-8
};
constexpr std::array kLeads{Lead{0x80, 0x00, 1, 0}, Lead{0xE0, 0xC0, 2, 0x80}, Lead{0xF0, 0xE0, 3, 0x800},
                            Lead{0xF8, 0xF0, 4, 0x10000}};

bool is_code_point(char32_t c) {
  return c < 0xD800 || (c > 0xDFFF && c <= 0x10FFFF);
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (const auto& lead : kLeads) {
    if ((byte(at) & lead.mask) != lead.value) continue;
    if (at + lead.bytes > text.size()) return {};
    char32_t value = byte(at) & static_cast<unsigned char>(~lead.mask);
    for (std::size_t i = 1; i < lead.bytes; ++i) {
      if ((byte(at + i) & 0xC0U) != 0x80U) return {};
      value = value << 6 | (byte(at + i) & 0x3FU);
    }
    if (value < lead.smallest || !is_code_point(value)) return {};
    return {.value = value, .bytes = lead.bytes};
  }
  return {};
}

namespace {

// The characters that .NET's TrimStart removes, which GitHub's runner uses; without line ends.
bool is_blank(char32_t c) {
  return c == ' ' || c == '\t' || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

// Marks and overrides of direction, and separators that some viewers treat as line ends.
bool reorders(char32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F);
}

std::string written_out(char32_t c) {
  return c < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(c))
                   : fmt::format("\\u{:04x}", static_cast<unsigned>(c));
}

enum class Breaks { to_spaces, kept };

std::string shown_as(std::string_view text, Breaks breaks) {
  std::string out;
  out.reserve(text.size());
  bool line_begins = breaks == Breaks::kept;
  for (std::size_t at = 0; at < text.size();) {
    if (const auto same = line_begins ? 0 : plain_length(text.substr(at)); same > 0) {
      out.append(text, at, same);
      at += same;
      continue;
    }
    const auto [c, bytes] = code_point_at(text, at);
    const bool is_break = bytes == 1 && (c == '\n' || c == '\r' || c == '\t');
    const bool ends_line = c == '\n' || (c == '\r' && text.substr(at + 1).starts_with('\n'));
    if (line_begins && text.substr(at).starts_with("::")) out += '\\';
    if (bytes == 0) {
      out += kReplacement;
    } else if (is_break && breaks == Breaks::to_spaces) {
      out += ' ';
    } else if (is_plain(c) || c == '\t' || (is_break && ends_line)) {
      out.append(text, at, bytes);
      if (is_runner_command(text, at)) out += '\\';
    } else {
      out += written_out(c);
    }
    line_begins = breaks == Breaks::kept && (c == '\n' || (line_begins && bytes > 0 && is_blank(c)));
    at += bytes == 0 ? 1 : bytes;
  }
  return out;
}

}  // namespace

bool is_plain(char32_t character) {
  return !is_control(character) && !reorders(character);
}

std::size_t plain_length(std::string_view text) {
  const auto end =
      std::find_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7F || c == '#'; });
  return static_cast<std::size_t>(end - text.begin());
}

bool is_runner_command(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("##")) return false;
  const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", at + 2);
  return end != std::string_view::npos && text[end] == '[';
}

std::string shown(std::string_view text) {
  return shown_as(text, Breaks::to_spaces);
}

std::string shown_lines(std::string_view text) {
  return shown_as(text, Breaks::kept);
}

std::string_view cut_to(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return text.substr(0, bytes);
}

}  // namespace perfbench::reports
