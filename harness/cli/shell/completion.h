// Completion of the words of a perfbench command: commands, options, values of options that have a list of them, names
// of metrics, and files and folders where a path is expected.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace perfbench::harness {

enum class Shell { bash, zsh, fish };

// A script for the shell, made only from the declarations below `root`.
std::string completion_script(const CLI::App& root, Shell shell);

}  // namespace perfbench::harness
