// Reads the tree of declared commands. Errors and completion use it, so that an option or a command that is declared is
// in both.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace perfbench::harness {

// The words after perfbench: "alerts list"; "" for perfbench itself.
std::string command_words(const CLI::App& command);

// Including the program: "perfbench alerts list".
std::string whole_command(const CLI::App& command);

// The command that the command line named, as far as it was parsed.
const CLI::App& chosen_command(const CLI::App& root);

// The one with these words, root itself for none. Throws InputError for words that no command has.
const CLI::App& named_command(const CLI::App& root, const std::vector<std::string>& words);

// The text that --help prints for it.
std::string help_of(const CLI::App& command);

// In the order of declaration.
std::vector<const CLI::App*> subcommands_of(const CLI::App& command);
std::vector<const CLI::App*> whole_tree(const CLI::App& command);  // the command and all below it
std::vector<const CLI::Option*> named_options_of(const CLI::App& command);
std::vector<const CLI::Option*> positionals_of(const CLI::App& command);

// "-h" and "--help"
std::vector<std::string> names_of(const CLI::Option& option);

bool takes_value(const CLI::Option& option);
bool may_be_repeated(const CLI::Option& option);

// The examples below --help's list of options: its lines that begin with two spaces, without these.
std::vector<std::string> examples_of(const CLI::App& command);

}  // namespace perfbench::harness
