// Makes manual pages from the declarations of commands.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace perfbench::harness {

// "perfbench-alerts-list": the name of the page; its file has the suffix ".1".
std::string man_page_name(const CLI::App& command);

// The page in troff with the macros of man(7). `version` is that of the program, "0.1.0".
std::string man_page(const CLI::App& command, const std::string& version);

}  // namespace perfbench::harness
