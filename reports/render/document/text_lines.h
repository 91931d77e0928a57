// Data as lines of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::reports {

// As shown() shows it; no word of it becomes a command of a CI runner where a line happens to begin with it.
std::string line_text(std::string_view data);

// Columns of a terminal that the text takes: two for a wide character (Chinese, Japanese, Korean, emoji), none for a
// combining one.
std::size_t width_of(std::string_view text);

// The longest part that wrapped() does not break.
std::size_t longest_word(const std::string& text);

// Lines of at most `width` columns (0: one line), broken between words only, and never between a number and its unit:
// a word that is longer has a line of its own. At least one line.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

// The same as text with line ends, every line after the first behind `indent` spaces.
std::string paragraph(const std::string& text, std::size_t width, std::size_t indent = 0);

}  // namespace perfbench::reports
