// Reads the tree of declared commands. Error messages, completion and manual pages all use it, so that a declared
// option or command appears in all of them.
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

// The command with these words; root itself if there are none. Throws InputError, in the name of the command `asking`,
// for words that no command has.
const CLI::App& named_command(const CLI::App& root, const std::vector<std::string>& words, const std::string& asking);

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

// The part of --help below the list of options: prose, examples (indented by two spaces), more prose, and from "Exit
// codes:" on the exit codes of the command.
struct HelpFooter {
  std::vector<std::string> description;
  std::vector<std::string> examples;  // without the indentation
  std::vector<std::string> notes;
  std::vector<std::string> exit_codes;  // without "Exit codes: "
};
HelpFooter footer_of(const CLI::App& command);

}  // namespace perfbench::harness
