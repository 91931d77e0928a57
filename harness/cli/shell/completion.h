// The words of a perfbench command that bash completes: commands, options, the values of options that have a
// list of them, names of metrics, and files and folders where a path is meant.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace perfbench::harness {

// A script for bash to read, made from the declarations below `root` alone.
std::string bash_completion(const CLI::App& root);

}  // namespace perfbench::harness
