// What the tree of declared commands says of itself. Errors, completion and manual pages read it here, so that an
// option or a command that is declared is in all of them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace perfbench::harness {

// The words after perfbench: "alerts list"; "" of perfbench itself.
std::string command_words(const CLI::App& command);

// With the program: "perfbench alerts list".
std::string whole_command(const CLI::App& command);

// The one that the command line named, as deep as it got.
const CLI::App& chosen_command(const CLI::App& root);

// The one with these words, root itself for none. Throws InputError, in the name of the command `asking`, for words
// that no command has.
const CLI::App& named_command(const CLI::App& root, const std::vector<std::string>& words, const std::string& asking);

// What --help prints of it.
std::string help_of(const CLI::App& command);

// In the order in which they were declared.
std::vector<const CLI::App*> subcommands_of(const CLI::App& command);
std::vector<const CLI::App*> whole_tree(const CLI::App& command);  // itself and all below it
std::vector<const CLI::Option*> named_options_of(const CLI::App& command);
std::vector<const CLI::Option*> positionals_of(const CLI::App& command);

// "-h" and "--help"
std::vector<std::string> names_of(const CLI::Option& option);

bool takes_value(const CLI::Option& option);
bool may_be_repeated(const CLI::Option& option);

// The lines below --help's list of options: prose, examples (two spaces before each), more prose, and from "Exit
// codes:" on what the command ends with.
struct HelpFooter {
  std::vector<std::string> description;
  std::vector<std::string> examples;  // without the spaces
  std::vector<std::string> notes;
  std::vector<std::string> exit_codes;  // without "Exit codes: "
};
HelpFooter footer_of(const CLI::App& command);

}  // namespace perfbench::harness
