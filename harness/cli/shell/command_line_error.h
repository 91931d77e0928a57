// Explains what is wrong with a command line that could not be parsed.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace perfbench::harness {

// "[report] --format 'html': there is no such value; give markdown, csv or json": the command, the user's input, the
// valid values and the remedy, in one to three lines without the final line end. `root` is in the state in which the
// parser left it.
std::string command_line_error(const CLI::App& root, const CLI::ParseError& error);

}  // namespace perfbench::harness
