// The width of text on a stream, and whether colours are allowed there.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "reports/render/document/document.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {

// Facts about the destination of a stream.
struct Surroundings {
  bool is_terminal = false;
  std::size_t terminal_columns = 0;  // 0: unknown
  std::string columns;               // environment variables; empty: not set
  std::string no_colour;
  std::string term;
};
Surroundings surroundings_of(std::FILE* stream);

bool is_terminal(std::FILE* stream);

// The requested width, or else the terminal's, or else COLUMNS, or else 80. Uses colours on a terminal unless NO_COLOR
// is set (https://no-color.org) or TERM is "dumb".
TextLayout text_layout(const Surroundings& around, std::optional<std::size_t> width = {});

// Prints a document in a format, through print.h.
void print_document(std::FILE* out, const Document& document, DocumentFormat format, const TextLayout& layout = {});

}  // namespace perfbench::reports
