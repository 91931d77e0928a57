// Options that several commands share, each declared once. Include in .cpp files of commands only.
#pragma once

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "harness/app/pairs/ab_options.h"
#include "harness/cli/shell/options.h"
#include "reports/render/document/document.h"
#include "reports/render/document/render.h"
#include "reports/render/document/terminal.h"

namespace perfbench::harness {

// DocumentFormat, of commands whose text was once called table.
enum class TableFormat { text, markdown, csv, json, html, svg };

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::TableFormat> {
  using F = perfbench::harness::TableFormat;
  static constexpr std::array kNames{std::pair{F::text, "text"}, std::pair{F::markdown, "markdown"},
                                     std::pair{F::csv, "csv"},   std::pair{F::json, "json"},
                                     std::pair{F::html, "html"}, std::pair{F::svg, "svg"},
                                     std::pair{F::text, "table"}};
};

namespace perfbench::harness {

// FILE, --only and --set.
enum class MatrixFile { required, optional };
void add_matrix_options(CLI::App& command, MatrixOptions& options, MatrixFile file = MatrixFile::required);

// --db, with the path that it holds as its default. PERFBENCH_DB of the environment stands in for an option that is not
// given; where there is no default either, nothing does.
CLI::Option* add_db_option(CLI::App& command, std::filesystem::path& db, const std::string& help);

// --timeout and --memory-limit.
void add_execution_options(CLI::App& command, ExecutionOptions& options);

// --author
void add_author_option(CLI::App& command, std::string& author);

// --pairing
CLI::Option* add_pairing_option(CLI::App& command, AbOptions& options);

// How two sides are compared in pairs: all but the matrix, the execution and --db. `group` is their heading in the
// help.
void add_ab_options(CLI::App& command, AbOptions& options, const std::string& group);

// Where a document goes, and how wide text is.
struct LayoutOptions {
  std::optional<std::size_t> width;  // none: the terminal's
  bool full = false;                 // unless a width is given
  std::filesystem::path output;      // empty: standard output
  std::filesystem::path html;        // gets the document as a page, too; empty: none
  std::string chart;                 // of format svg: the key of some of the document's charts; empty: all
};
CLI::Option* add_width_option(CLI::App& command, LayoutOptions& options);
void add_layout_options(CLI::App& command, LayoutOptions& options);
// --html
void add_page_option(CLI::App& command, LayoutOptions& options);
// --output and --chart
void add_file_option(CLI::App& command, LayoutOptions& options);

// --format of a command whose output is a document, one of an enumeration that has `text`: text where standard output
// is a terminal, else `piped`; with the options of its layout, --html and, of one that has `svg`, --output and --chart.
template <class Format>
void add_output_options(CLI::App& command, Format& format, Format piped, LayoutOptions& layout,
                        const std::string& help) {
  format = reports::is_terminal(stdout) ? Format::text : piped;
  layout.full = !reports::is_terminal(stdout) && piped == Format::text;  // who read lines whole goes on to
  add_enum_option(command, "--format", format, help)
      ->default_str(fmt::format("text on a terminal, else {}", spec::enum_name(piped)));
  add_layout_options(command, layout);
  add_page_option(command, layout);
  if constexpr (requires { Format::svg; }) add_file_option(command, layout);
}

// The format of documents with the same name, if there is one.
template <class Format>
std::optional<reports::DocumentFormat> document_format(Format format) {
  return spec::enum_value<reports::DocumentFormat>(spec::enum_name(format));
}

// The page alone, where one is asked for: of a command that prints more than documents.
void write_page(const reports::Document& document, const LayoutOptions& layout);
// With the page.
void print_document(const reports::Document& document, reports::DocumentFormat format, const LayoutOptions& layout);

}  // namespace perfbench::harness
