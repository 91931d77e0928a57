// Options that several commands share, each declared once. Include this in .cpp files of commands only.
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
#include "harness/stats/screen.h"
#include "reports/render/document/document.h"
#include "reports/render/document/render.h"
#include "reports/render/document/terminal.h"

namespace perfbench::harness {

// DocumentFormat for commands whose format text used to be called table.
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
// --program and --program-repo.
void add_program_options(CLI::App& command, ProgramChoice& program);

// --db, whose default is the present value of the path. If the option is not given, PERFBENCH_DB of the environment
// replaces the default; an option without a default is not replaced.
CLI::Option* add_db_option(CLI::App& command, std::filesystem::path& db, const std::string& help);

// --timeout, --memory-limit and --no-lock.
void add_execution_options(CLI::App& command, ExecutionOptions& options);

// --launcher, --image, --launch-option.
void add_launch_options(CLI::App& command, LaunchOptions& options);

// --screens-per-night
void add_screens_option(CLI::App& command, ScreenBudget& budget);
// --author
void add_author_option(CLI::App& command, std::string& author);

// --pairing
CLI::Option* add_pairing_option(CLI::App& command, AbOptions& options);

// How two sides are compared in pairs: everything except the matrix, the execution and --db. `group` is the heading in
// the help.
void add_ab_options(CLI::App& command, AbOptions& options, const std::string& group);

// The destination of a document, and the width of text.
struct LayoutOptions {
  std::optional<std::size_t> width;  // nullopt: the width of the terminal
  bool full = false;                 // unless a width is given
  std::filesystem::path output;      // empty: standard output
  std::filesystem::path html;        // receives the document as a page, in addition; empty: no page
  std::string chart;                 // for the format svg: the key of the charts to draw; empty: all
};
CLI::Option* add_width_option(CLI::App& command, LayoutOptions& options);
void add_layout_options(CLI::App& command, LayoutOptions& options);
// --html
void add_page_option(CLI::App& command, LayoutOptions& options);
// --output and --chart
void add_file_option(CLI::App& command, LayoutOptions& options);

// --format for a command whose output is a document, one value of an enumeration that has `text`. The default is text
// if standard output is a terminal, else `piped`. Also adds the options of the layout, --html and, if the enumeration
// has `svg`, --output and --chart.
template <class Format>
void add_output_options(CLI::App& command, Format& format, Format piped, LayoutOptions& layout,
                        const std::string& help) {
  format = reports::is_terminal(stdout) ? Format::text : piped;
  layout.full =
      !reports::is_terminal(stdout) && piped == Format::text;  // a program that reads whole lines can go on doing so
  add_enum_option(command, "--format", format, help)
      ->default_str(fmt::format("text on a terminal, otherwise {}", spec::enum_name(piped)));
  add_layout_options(command, layout);
  add_page_option(command, layout);
  if constexpr (requires { Format::svg; }) add_file_option(command, layout);
}

// The format of documents with the same name, if there is one.
template <class Format>
std::optional<reports::DocumentFormat> document_format(Format format) {
  return spec::enum_value<reports::DocumentFormat>(spec::enum_name(format));
}

// Writes only the page, if one was requested: for commands that print more than documents.
void write_page(const reports::Document& document, const LayoutOptions& layout);
// Also writes the page.
void print_document(const reports::Document& document, reports::DocumentFormat format, const LayoutOptions& layout);

}  // namespace perfbench::harness
