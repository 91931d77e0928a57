// Rows that readers of a database left out (store/stored_row.h), for the commands that show what they read.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "harness/cli/shell/exit_code.h"
#include "harness/store/database.h"

namespace perfbench::harness {

// Names every row that was left out on standard error. A command that would exit with 0 then exits with 3, because its
// output is right but incomplete.
ExitCode tell_left_out(const Connection& db, ExitCode code);
ExitCode tell_left_out(const std::set<std::string>& left_out, ExitCode code);

// Options whose values are a list of names. Help, errors and completion all take the list from the option's type name,
// which consists of the names with | between them. Converts {"markdown", "csv"} to "markdown|csv". Names consist of
// lower-case letters, digits and underscores.
std::string type_of_values(const std::vector<std::string>& names);

// The inverse; empty for a type that is not such a list (FILE, KEY=VALUE, NUMBER from 1 to 9).
std::vector<std::string> values_of_type(const std::string& type);

// "'htm': there is no such value (did you mean 'html'?); give markdown, csv or html"; empty for one of the names.
std::string value_complaint(const std::string& text, const std::vector<std::string>& names);

// "list, show or ack"
std::string alternatives(const std::vector<std::string>& names);

}  // namespace perfbench::harness
