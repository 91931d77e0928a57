// A document in each format. What the text of others may do there is decided here and in reports/format, nowhere else.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "reports/document/document.h"
#include "workloads/spec/fields.h"

namespace perfbench::reports {

enum class DocumentFormat { text, markdown, csv, json };

// How text is laid out.
struct TextLayout {
  std::size_t width = 80;  // columns of the terminal; 0: as wide as it is
  bool colour = false;
};

std::string render(const Document& document, DocumentFormat format, const TextLayout& layout = {});

// For a terminal. Aligned tables; one that is wider than the layout says what all its rows have in common once, above,
// and is then narrowed by wrapping its cells, at last by a block of lines for each row. Nothing is left out.
std::string render_text(const Document& document, const TextLayout& layout);

// CommonMark with GitHub's tables.
std::string render_markdown(const Document& document);

// RFC 4180: the tables alone, each with a line of keys, an empty line between two.
std::string render_csv(const Document& document);

// Document::json, or an object with an array of rows for each table, by its key.
std::string render_json(const Document& document);

}  // namespace perfbench::reports

template <>
struct perfbench::spec::EnumNames<perfbench::reports::DocumentFormat> {
  using F = perfbench::reports::DocumentFormat;
  static constexpr std::array kNames{std::pair{F::text, "text"}, std::pair{F::markdown, "markdown"},
                                     std::pair{F::csv, "csv"}, std::pair{F::json, "json"}};
};
