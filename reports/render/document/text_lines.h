// Data as lines of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace perfbench::reports {

// Escaped by shown(). Also makes sure that no word at the start of a wrapped line becomes a command of a CI runner.
std::string line_text(std::string_view data);

// The columns of a terminal that the text occupies: two for a wide character (Chinese, Japanese, Korean, emoji), none
// for a combining one.
std::size_t width_of(std::string_view text);

// The longest part that wrapped() does not break.
std::size_t longest_word(const std::string& text);

// Lines of at most `width` columns (0: one line), broken only between words, and never between a number and its unit. A
// word that is too long gets a line of its own. Returns at least one line.
std::vector<std::string> wrapped(const std::string& text, std::size_t width);

// The same as text with line ends, where every line after the first is indented by `indent` spaces.
std::string paragraph(const std::string& text, std::size_t width, std::size_t indent = 0);

}  // namespace perfbench::reports
