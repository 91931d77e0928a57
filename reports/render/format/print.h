#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "reports/render/format/escape.h"

namespace perfbench::reports {

// The alignment of a column: text to the left, numbers to the right.
enum class Align { left, right };

// The colours of a terminal (ECMA-48, select graphic rendition). perfbench writes no other escape sequences.
inline constexpr std::string_view kRed = "\x1b[31m";
inline constexpr std::string_view kGreen = "\x1b[32m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kNoColour = "\x1b[0m";
inline constexpr char kColourBegins = '\x1b';
inline constexpr std::array kColours{kRed, kGreen, kYellow, kNoColour};

// The only way to standard output and standard error, for results and for messages while a command works. Only text of
// the harness itself can end a line there, move the cursor or give a CI runner a command, whatever a name, a reason or
// a log contains. ci/check_includes.py keeps other ways of printing out of harness/ and reports/.
//
// The work must not depend on a reader: output that cannot be written (a full disk, a pager that was closed, a closed
// stream) is dropped, and nothing is thrown. main asks standard_output_error() at the end.
//
// Returns the errno of the first failed write to standard output, 0 if none failed.
int standard_output_error();

// Prints lines that a renderer has made, in any format, through shown_lines().
void print_text(std::FILE* out, std::string_view lines);

// The same, but keeps the colours that render_text() put there (print.h). Data has none, because shown() escapes them.
void print_coloured(std::FILE* out, std::string_view lines);

// As fmt::print. Strings among the values are data, Plain values are not.
template <class... Args>
void print(std::FILE* out, fmt::format_string<Plain::Formatted<Args>...> literal, const Args&... values) {
  print_text(out, Plain::format(literal, values...).text());
}
template <class... Args>
void print(fmt::format_string<Plain::Formatted<Args>...> literal, const Args&... values) {
  print_text(stdout, Plain::format(literal, values...).text());
}

// Prints the lines of checks.h, which alone are meant as commands.
void print_workflow_commands(std::string_view commands);

// On a terminal: clears the line of the cursor, so that another text can take its place.
void erase_line(std::FILE* out);

}  // namespace perfbench::reports
