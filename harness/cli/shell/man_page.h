// Manual pages out of the declarations of commands.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace perfbench::harness {

// "perfbench-alerts-list": the page's name; its file has ".1" behind it.
std::string man_page_name(const CLI::App& command);

// The page in troff with the macros of man(7). `version` is the program's, "0.1.0".
std::string man_page(const CLI::App& command, const std::string& version);

}  // namespace perfbench::harness
