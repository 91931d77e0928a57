// How wide text on a stream may be, and whether it may have colours.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "reports/render/document/document.h"
#include "reports/render/document/render.h"

namespace perfbench::reports {

// What is known of where a stream leads.
struct Surroundings {
  bool is_terminal = false;
  std::size_t terminal_columns = 0;  // 0: not known
  std::string columns;               // the environment's variables; empty: not set
  std::string no_colour;
  std::string term;
};
Surroundings surroundings_of(std::FILE* stream);

bool is_terminal(std::FILE* stream);

// The width that was asked for, else the terminal's, else COLUMNS, else 80; colours on a terminal unless NO_COLOR is
// set (https://no-color.org) or TERM is "dumb".
TextLayout text_layout(const Surroundings& around, std::optional<std::size_t> width = {});

// A document in a format, through print.h.
void print_document(std::FILE* out, const Document& document, DocumentFormat format, const TextLayout& layout = {});

}  // namespace perfbench::reports
