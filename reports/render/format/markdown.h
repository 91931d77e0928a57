// Data inside Markdown (CommonMark with GitHub's tables): shown as written, never read as markup.
#pragma once

#include <vector>

#include "reports/render/format/escape.h"
#include "reports/render/format/print.h"

namespace perfbench::reports {

// shown() with what would be markup escaped: "<" and entities as "&lt;", "&amp;"; other marks with a backslash, where
// they can have a meaning ("a_b", "a <= b" and "a -> b" stay as they are). Safe in a table's cell, in a list item, in a
// heading and at the beginning of a line, not inside `code`.
std::string escape_markdown(std::string_view data);

using Markdown = EscapedText<&escape_markdown>;

// Tables of Markdown, aligned so that they read well on a terminal too.
// Plain strings in it are data, and escaped.
using MarkdownRow = std::vector<Markdown>;

// The first line is the heading; all have as many cells, and there are as many aligns, or none: all to the left.
Markdown markdown_table(const std::vector<MarkdownRow>& lines, const std::vector<Align>& aligns = {});

}  // namespace perfbench::reports
