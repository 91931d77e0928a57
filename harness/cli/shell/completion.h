// What a shell needs to complete the words of a perfbench command: commands, options, the values of options that have a
// list of them, names of metrics, and files and folders where a path is meant.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace perfbench::harness {

enum class Shell { bash, zsh, fish };

// A script for the shell to read, made of the declarations below `root` alone.
std::string completion_script(const CLI::App& root, Shell shell);

}  // namespace perfbench::harness
