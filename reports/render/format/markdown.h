// Data inside Markdown (CommonMark with GitHub's tables): shown literally, never interpreted as markup.
#pragma once

#include <vector>

#include "reports/render/format/escape.h"
#include "reports/render/format/print.h"

namespace perfbench::reports {

// shown(), with markup escaped: "<" and entities as "&lt;", "&amp;"; other marks with a backslash where they could have
// a meaning ("a_b", "a <= b" and "a -> b" stay unchanged). Safe in a cell of a table, in a list item, in a heading and
// at the beginning of a line, but not inside `code`.
std::string escape_markdown(std::string_view data);

using Markdown = EscapedText<&escape_markdown>;

// Tables of Markdown, aligned so that they are also readable on a terminal. Plain strings are data and are escaped.
using MarkdownRow = std::vector<Markdown>;

// The first line is the heading. All lines have the same number of cells. `aligns` has that size, too, or is empty: all
// to the left.
Markdown markdown_table(const std::vector<MarkdownRow>& lines, const std::vector<Align>& aligns = {});

}  // namespace perfbench::reports
