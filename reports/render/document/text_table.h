// A table on a terminal.
#pragma once

#include <string>

#include "reports/render/document/document.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {

// Aligned columns, with the notes of the rows below. If they are wider than the layout, values that all rows share are
// printed once above. Then titles, and cells of columns that are aligned to the left, are wrapped within their column.
// If that is not enough, every row becomes a block of lines "title: value". Empty for a table without columns for
// people.
std::string text_table(const Table& table, const TextLayout& layout);

// Uses the colour of `tone` if the layout has colours and the text is not empty.
std::string toned(const std::string& text, Tone tone, const TextLayout& layout);

}  // namespace perfbench::reports
