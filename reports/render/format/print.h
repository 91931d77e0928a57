#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "reports/render/format/escape.h"

namespace perfbench::reports {

// Of a column: text begins at one edge, numbers end at one.
enum class Align { left, right };

// The colours of a terminal (ECMA-48, select graphic rendition): all the escape sequences that perfbench writes.
inline constexpr std::string_view kRed = "\x1b[31m";
inline constexpr std::string_view kGreen = "\x1b[32m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kNoColour = "\x1b[0m";
inline constexpr char kColourBegins = '\x1b';
inline constexpr std::array kColours{kRed, kGreen, kYellow, kNoColour};

// The one way to standard output and standard error: results, and what is said beside them while a command works. Only
// text of the harness itself can end a line there, move the cursor or give a CI runner a command, whatever stands in a
// name, a reason or a log; ci/check_includes.py keeps other ways of printing out of harness/ and reports/.
//
// Whether anybody reads must not matter to the work: what cannot be written (a full disk, a pager that was quit, a
// closed stream) is dropped and not thrown. main asks standard_output_error() at the end.
// The errno of the first write to standard output that failed, 0 if none did.
int standard_output_error();

// Lines that a renderer has made, in any format: shown_lines().
void print_text(std::FILE* out, std::string_view lines);

// The same, and the colours that render_text() put there (print.h) stay: data has none, shown() writes them out.
void print_coloured(std::FILE* out, std::string_view lines);

// As fmt::print; text among the values is data, Plain is not.
template <class... Args>
void print(std::FILE* out, fmt::format_string<Plain::Formatted<Args>...> literal, const Args&... values) {
  print_text(out, Plain::format(literal, values...).text());
}
template <class... Args>
void print(fmt::format_string<Plain::Formatted<Args>...> literal, const Args&... values) {
  print_text(stdout, Plain::format(literal, values...).text());
}

// What checks.h has made: the only lines that are meant as commands.
void print_workflow_commands(std::string_view commands);

// On a terminal: the line under the cursor becomes empty, for another text in its place.
void erase_line(std::FILE* out);

}  // namespace perfbench::reports
