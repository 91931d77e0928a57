// UTF-8, one character at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perfbench::reports {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;  // 0: there is no valid UTF-8 character here
};

// The character that begins at `at`, which is inside the text. Surrogates and overlong forms are not valid UTF-8.
CodePoint code_point_at(std::string_view text, std::size_t at);

inline constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD, in place of bytes that cannot be shown

// Text from outside (names, labels, reasons, log lines, commit subjects) made safe for a terminal or a log. Letters of
// every script stay unchanged. Characters that move a cursor, colour, ring or reorder are written as escapes ("\x1b",
// "\u202e"), invalid UTF-8 becomes U+FFFD, and nothing looks like a command of a CI runner: a line that begins with
// "::" (GitHub) gets a backslash, and so does "##[", "##vso[" or "##teamcity[" anywhere. The result need not be
// readable back: JSON is exact. For use inside a line: line ends and tabs become spaces.
std::string shown(std::string_view text);

// For whole lines that the harness has composed: line ends and tabs stay.
std::string shown_lines(std::string_view text);

// False for characters that shown() escapes. All kinds of spaces count as plain, line ends do not.
bool is_plain(char32_t character);

// The number of printable ASCII characters at the beginning of `text` that no rule here can change, other than "::".
std::size_t plain_length(std::string_view text);

// Whether a command that a CI runner accepts anywhere in a line ("##[error]") begins at `at`.
bool is_runner_command(std::string_view text, std::size_t at);

// The longest prefix of at most `bytes` bytes that ends between two characters.
std::string_view cut_to(std::string_view text, std::size_t bytes);

}  // namespace perfbench::reports
