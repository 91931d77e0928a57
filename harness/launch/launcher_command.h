// Calls of a scheduler's own commands, for launchers.
#pragma once

#include <string>
#include <vector>

#include "harness/execute/process.h"

namespace perfbench::harness {

// Ends a command that has not answered within a minute.
ProcessEnd call_launcher(std::vector<std::string> command);

// Why the command failed, in its own words: the first line of its error output.
std::string message_of(const ProcessEnd& end);

std::string trimmed_end(std::string text);
std::string first_line(const std::string& text);

}  // namespace perfbench::harness
