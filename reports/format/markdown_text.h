// Data inside Markdown (CommonMark with GitHub's tables): shown as written, never read as markup.
#pragma once

#include "reports/format/escaped_text.h"

namespace perfbench::reports {

// shown() with what would be markup escaped: "<" and entities as "&lt;", "&amp;"; other marks with a backslash, where
// they can have a meaning ("a_b", "a <= b" and "a -> b" stay as they are). Safe in a table's cell, in a list item, in a
// heading and at the beginning of a line, not inside `code`.
std::string escape_markdown(std::string_view data);

using Markdown = EscapedText<&escape_markdown>;

}  // namespace perfbench::reports
