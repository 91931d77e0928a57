// The one way to standard output and standard error: results, and what is said beside them while a command works. Only
// text of the harness itself can end a line there, move the cursor or give a CI runner a command, whatever stands in a
// name, a reason or a log; ci/check_includes.py keeps other ways of printing out of harness/ and reports/.
//
// Whether anybody reads must not matter to the work: what cannot be written (a full disk, a pager that was quit, a
// closed stream) is dropped and not thrown. main asks standard_output_error() at the end.
#pragma once

#include <cstdio>
#include <string>

#include "reports/format/escaped_text.h"

namespace perfbench::reports {

// The errno of the first write to standard output that failed, 0 if none did.
int standard_output_error();

// Lines that a renderer has made, in any format: shown_lines().
void print_text(std::FILE* out, std::string_view lines);

// The same, and the colours that render_text() put there (colour.h) stay: data has none, shown() writes them out.
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

// What annotations.h has made: the only lines that are meant as commands.
void print_workflow_commands(std::string_view commands);

// On a terminal: the line under the cursor becomes empty, for another text in its place.
void erase_line(std::FILE* out);

}  // namespace perfbench::reports
