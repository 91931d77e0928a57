// What is wrong with a command line that could not be read.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace perfbench::harness {

// "[report] --format 'html': there is no such value; give markdown, csv or json": the command, what was asked, what
// there is and how to mend it, in one to three lines without the last line's end. `root` is as the parser left it.
std::string command_line_error(const CLI::App& root, const CLI::ParseError& error);

}  // namespace perfbench::harness
