// Tables of Markdown, aligned so that they read well on a terminal too.
#pragma once

#include <vector>

#include "reports/format/align.h"
#include "reports/format/markdown_text.h"

namespace perfbench::reports {

// Plain strings in it are data, and escaped.
using MarkdownRow = std::vector<Markdown>;

// The first line is the heading; all have as many cells, and there are as many aligns, or none: all to the left.
Markdown markdown_table(const std::vector<MarkdownRow>& lines, const std::vector<Align>& aligns = {});

}  // namespace perfbench::reports
