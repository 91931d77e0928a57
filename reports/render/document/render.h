// A document in each format. What the text of others may do there is decided here and in reports/format, nowhere else.
#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/render/document/document.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::reports {

enum class DocumentFormat { text, markdown, csv, json, html, svg };

// How text is laid out.
struct TextLayout {
  std::size_t width = 80;  // columns of the terminal; 0: as wide as it is
  bool colour = false;
};

std::string render(const Document& document, DocumentFormat format, const TextLayout& layout = {});

// For a terminal. Aligned tables; one that is wider than the layout says what all its rows have in common once, above,
// and is then narrowed by wrapping its cells, at last by a block of lines for each row. Nothing is left out.
std::string render_text(const Document& document, const TextLayout& layout);

// Whether Markdown has the charts too, those that Mermaid can draw (chart/mermaid.h): not everybody who shows Markdown
// draws them.
enum class Pictures { none, mermaid };

// CommonMark with GitHub's tables.
std::string render_markdown(const Document& document, Pictures pictures = Pictures::none);

// RFC 4180: the tables alone, each with a line of keys, an empty line between two.
std::string render_csv(const Document& document);

// A page that works from disk, on any screen and on paper, and asks nobody for anything: the document as JSON, and a
// script that makes elements of it and sets texts.
std::string render_html(const Document& document);

// What a server's pages lead to, and whether alerts may be changed there. A page from disk has no places.
struct Link {
  std::string text;
  std::string path;
};
struct Site {
  std::vector<Link> places;
  bool writable = false;
};
// A page of a server asks it for its data again, and shows what has changed.
struct Page {
  std::string html;
  std::string policy;  // of its Content-Security-Policy, which is also within it
};
Page page_of(const Document& document, const Site& site);
// The JSON within it.
std::string page_data(const Document& document, const Site& site);

// Its charts, one under the other: all, or those whose key is `chart`, or begins with that and "_". A drawing of
// nothing where there is none.
std::string render_svg(const Document& document, std::string_view chart = {});
std::vector<std::string> chart_keys(const Document& document);

// Document::json, or an object with an array of rows for each table, by its key.
std::string render_json(const Document& document);

}  // namespace perfbench::reports

template <>
struct perfbench::spec::EnumNames<perfbench::reports::DocumentFormat> {
  using F = perfbench::reports::DocumentFormat;
  static constexpr std::array kNames{std::pair{F::text, "text"}, std::pair{F::markdown, "markdown"},
                                     std::pair{F::csv, "csv"},   std::pair{F::json, "json"},
                                     std::pair{F::html, "html"}, std::pair{F::svg, "svg"}};
};

namespace perfbench::reports {

// The rows of a table for JSON that says more than they do. Include in .cpp files only: it pulls in the JSON library.
// An array of objects, by the keys of the columns for programs; null for what is not known.
nlohmann::ordered_json json_rows(const Table& table);

}  // namespace perfbench::reports
