#include "harness/cli/shell/command_tree.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string_view>

#include "harness/system/input_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {

std::string command_words(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "";
  const auto above = command_words(*command.get_parent());
  return above.empty() ? command.get_name() : above + " " + command.get_name();
}

std::string whole_command(const CLI::App& command) {
  const auto words = command_words(command);
  return words.empty() ? "perfbench" : "perfbench " + words;
}

const CLI::App& chosen_command(const CLI::App& root) {
  const auto chosen = root.get_subcommands();
  return chosen.empty() ? root : chosen_command(*chosen.front());
}

const CLI::App& named_command(const CLI::App& root, const std::vector<std::string>& words) {
  const auto wanted = fmt::format("{}", fmt::join(words, " "));
  std::vector<std::string> known;
  for (const auto* command : whole_tree(root)) {
    const auto name = command_words(*command);
    if (name == wanted) return *command;
    if (!name.empty()) known.push_back(name);
  }
  const auto near = spec::nearest(wanted, known);
  throw InputError(fmt::format("[help] '{}': there is no such command{}; `perfbench --help` lists all", wanted,
                               near ? " (did you mean '" + *near + "'?)" : ""));
}

// CLI::App::help always shows the command that was parsed, whichever object it is called on.
std::string help_of(const CLI::App& command) {
  return command.get_formatter()->make_help(&command, whole_command(command), CLI::AppFormatMode::Normal);
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::App*> whole_tree(const CLI::App& command) {
  std::vector<const CLI::App*> out{&command};
  for (const auto* below : subcommands_of(command)) {
    const auto more = whole_tree(*below);
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

std::vector<const CLI::Option*> named_options_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const auto& name : option.get_snames()) out.push_back("-" + name);
  for (const auto& name : option.get_lnames()) out.push_back("--" + name);
  return out;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

bool may_be_repeated(const CLI::Option& option) {
  return option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
}

std::vector<std::string> examples_of(const CLI::App& command) {
  constexpr std::string_view kIndent = "  ";
  std::vector<std::string> out;
  std::istringstream lines(command.get_footer());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kIndent)) out.push_back(line.substr(kIndent.size()));
  }
  return out;
}

}  // namespace perfbench::harness
