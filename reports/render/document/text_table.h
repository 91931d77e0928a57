// A table on a terminal.
#pragma once

#include <string>

#include "reports/render/document/document.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {

// Aligned columns with the notes of the rows below. Where they are wider than the layout: what all rows share is said
// once above, then titles and the cells of columns that are aligned to the left are wrapped within their column; where
// that is not enough every row is a block of lines "title: value". Empty for a table without columns for people.
std::string text_table(const Table& table, const TextLayout& layout);

// In the colour of `tone`, where the layout has colours and there is something to colour.
std::string toned(const std::string& text, Tone tone, const TextLayout& layout);

}  // namespace perfbench::reports
