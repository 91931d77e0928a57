// UTF-8, a character at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perfbench::reports {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: no character of valid UTF-8 begins there
};

// Of the character that begins at `at`, which is inside the text. Surrogates and overlong forms are not UTF-8.
CodePoint code_point_at(std::string_view text, std::size_t at);

inline constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD, stands for what cannot be shown

// Text of others - names, labels, reasons, log lines, commit subjects - as a terminal or a log may hold it. The letters
// of every script stay as they are. What moves a cursor, colours, rings or reorders is written out ("\x1b", "\u202e"),
// bytes that are no UTF-8 become U+FFFD, and nothing reads as a command of a CI runner: a line that begins with "::"
// (GitHub) gets a backslash, and so does "##[", "##vso[" or "##teamcity[" anywhere. Not to be read back: JSON is exact.
// For inside a line: line ends and tabs become spaces.
std::string shown(std::string_view text);

// For whole lines that the harness has put together: line ends and tabs stay.
std::string shown_lines(std::string_view text);

// False for what shown() writes out. Spaces of any kind count as plain, line ends do not.
bool is_plain(char32_t character);

// Whether what a CI runner takes for a command at any place of a line ("##[error]") begins at `at`.
bool is_runner_command(std::string_view text, std::size_t at);

// The longest beginning of at most so many bytes that ends between two characters.
std::string_view cut_to(std::string_view text, std::size_t bytes);

}  // namespace perfbench::reports
