// Tables of Markdown, aligned so that they read well on a terminal too.
#pragma once

#include <string>
#include <vector>

namespace perfbench::reports {

using MarkdownRow = std::vector<std::string>;

// Text for inside a table's cell: '|' would end it, a line break the table.
std::string markdown_cell(const std::string& text);

// The first line is the heading; all have as many cells.
std::string markdown_table(const std::vector<MarkdownRow>& lines);

}  // namespace perfbench::reports
