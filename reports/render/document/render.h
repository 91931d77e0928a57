// A document in each format. Only this code and reports/format decide how text from outside is escaped.
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

// The layout of text.
struct TextLayout {
  std::size_t width = 80;  // columns of the terminal; 0: unlimited
  bool colour = false;
};

std::string render(const Document& document, DocumentFormat format, const TextLayout& layout = {});

// For a terminal. Tables are aligned. If a table is wider than the layout, values that all its rows have in common are
// printed once above it. If it is still too wide, its cells are wrapped, and finally each row becomes a block of lines.
// Nothing is left out.
std::string render_text(const Document& document, const TextLayout& layout);

// CommonMark with GitHub's tables, without charts. The section of a folded heading is an HTML element "details".
std::string render_markdown(const Document& document);

// RFC 4180: only the tables, each with a line of keys, separated by empty lines.
std::string render_csv(const Document& document);

// A page that works from disk, on any screen and on paper, without any requests: the document as JSON, and a script
// that makes elements of it and sets their texts.
std::string render_html(const Document& document);

// The links of a server's pages, and whether alerts may be changed there. A page from disk has no places.
struct Link {
  std::string text;
  std::string path;
};
struct Site {
  std::vector<Link> places;
  bool writable = false;
};
// A page of a server requests its data again and shows what has changed.
struct Page {
  std::string html;
  std::string policy;  // its Content-Security-Policy, which the page also contains
};
Page page_of(const Document& document, const Site& site);
// The JSON inside the page.
std::string page_data(const Document& document, const Site& site);

// Its charts below each other: all, or those whose key is `chart`, or begins with it and "_". An empty drawing if there
// are none.
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

// The rows of a table, for JSON that contains more than the rows. Include this in .cpp files only, because it needs the
// JSON library. An array of objects, by the keys of the columns for programs; null for unknown values.
nlohmann::ordered_json json_rows(const Table& table);

}  // namespace perfbench::reports
