// What the readers of a database left out (store/stored_row.h), for the commands that show what they read.
#pragma once

#include <set>
#include <string>

#include "harness/cli/exit_code.h"
#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

// Names every row that was left out on standard error. A command that was to end with 0 then ends with 3: what it
// showed is right, and not all.
ExitCode tell_left_out(const Connection& db, ExitCode code);
ExitCode tell_left_out(const std::set<std::string>& left_out, ExitCode code);

}  // namespace perfbench::harness
