#include "reports/render/document/text_lines.h"

#include <algorithm>
#include <cctype>
#include <clocale>
#include <cwchar>

#include "reports/render/format/shown.h"

namespace perfbench::reports {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// "12.5", "+3.2", "(95"
bool is_number(std::string_view word) {
  const auto first = word.find_first_not_of("+-(");
  return first != std::string_view::npos && is_digit(word[first]) && is_digit(word.back());
}

// "%", "ms", "GiB)": as short as units are.
bool is_unit(std::string_view word) {
  constexpr std::size_t kLongestUnit = 3;
  const auto end = word.find_last_not_of(".,:;)");
  if (end == std::string_view::npos || end + 1 > kLongestUnit) return false;
  return word.front() == '%' || std::isalpha(static_cast<unsigned char>(word.front())) != 0;
}

// The parts of a line that must not be broken.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool number = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const auto word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (number && is_unit(word)) {
      words.back().append(" ").append(word);
    } else {
      words.emplace_back(word);
    }
    number = is_number(word);
  }
  return words;
}

}  // namespace

std::string line_text(std::string_view data) {
  const auto text = shown(data);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool word_begins = i == 0 || text[i - 1] == ' ';
    if (word_begins && text.compare(i, 2, "::") == 0) out += '\\';
    out += text[i];
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80U; })) {
    return text.size();
  }
  // wcwidth() depends on the thread's locale, and the user's locale may not know these characters.
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const locale_t previous = unicode == nullptr ? nullptr : uselocale(unicode);
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = code_point_at(text, at);
    const int columns =
        character.bytes == 0 || previous == nullptr ? 1 : wcwidth(static_cast<wchar_t>(character.value));
    width += static_cast<std::size_t>(std::max(columns, 0));
    at += std::max<std::size_t>(character.bytes, 1);
  }
  if (previous != nullptr) uselocale(previous);
  return width;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (const auto& word : words_of(text)) longest = std::max(longest, width_of(word));
  return longest;
}

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  if (width == 0 || width_of(text) <= width) return {text};
  std::vector<std::string> lines;
  for (const auto& word : words_of(text)) {
    if (!lines.empty() && width_of(lines.back()) + 1 + width_of(word) <= width) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

std::string paragraph(const std::string& text, std::size_t width, std::size_t indent) {
  constexpr std::size_t kNarrowest = 1;
  const auto room = width == 0 ? 0 : std::max(width, indent + kNarrowest) - indent;
  std::string out;
  for (const auto& line : wrapped(text, room)) out += (out.empty() ? "" : std::string(indent, ' ')) + line + "\n";
  return out;
}

}  // namespace perfbench::reports
