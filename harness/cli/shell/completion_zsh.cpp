#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "harness/cli/shell/command_tree.h"
#include "harness/cli/shell/completion_scripts.h"

namespace perfbench::harness {
namespace {

// Escapes text for a specification of _arguments, between single quotes.
std::string zsh_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string zsh_function(const CLI::App& command) {
  auto name = "_" + whole_command(command);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// ":description:completion"
std::string zsh_word(const CLI::Option& option) {
  const auto word = completed_word(option);
  const auto type = option.get_type_name();
  const auto meant =
      zsh_escaped(word.kind == WordKind::values || type.empty() ? option.get_name(option.get_positional()) : type);
  switch (word.kind) {
    case WordKind::values:
      return fmt::format(":{}:({})", meant, fmt::join(word.values, " "));
    case WordKind::file:
      return fmt::format(":{}:_files", meant);
    case WordKind::folder:
      return fmt::format(":{}:_files -/", meant);
    case WordKind::free:
      break;
  }
  return fmt::format(":{}: ", meant);
}

std::string zsh_option(const CLI::Option& option) {
  const auto names = names_of(option);
  std::string words;
  for (int i = 0; i < words_taken(option); ++i) words += zsh_word(option);
  const auto once = names.size() < 2 ? "" : fmt::format("({})", fmt::join(names, " "));
  std::string out;
  for (const auto& name : names) {
    const auto* const equals = takes_value(option) && name.starts_with("--") ? "=" : "";
    out += fmt::format("    '{}{}{}[{}]{}' \\\n", may_be_repeated(option) ? "*" : once, name, equals,
                       zsh_escaped(option.get_description()), words);
  }
  return out;
}

// A command with subcommands completes their names, and leaves the rest to the subcommand that was named.
std::string zsh_commands(const CLI::App& command) {
  std::string names;
  std::string calls;
  for (const auto* below : subcommands_of(command)) {
    names += fmt::format("        '{}:{}'\n", below->get_name(), zsh_escaped(below->get_description()));
    calls += fmt::format("        {}) {} ;;\n", below->get_name(), zsh_function(*below));
  }
  return "    '1:command:->command' \\\n    '*::argument:->argument'\n"
         "  case $state in\n    command)\n      commands=(\n" +
         names + "      )\n      _describe -t commands 'command' commands\n      ;;\n    argument)\n" +
         "      case $words[1] in\n" + calls + "      esac\n      ;;\n  esac\n";
}

std::string zsh_positionals(const CLI::App& command) {
  std::string out;
  std::size_t place = 0;
  for (const auto* positional : positionals_of(command)) {
    const auto which = may_be_repeated(*positional) ? "*" : fmt::format("{}", ++place);
    out += fmt::format("    '{}{}{}' \\\n", which, positional->get_required() ? "" : ":", zsh_word(*positional));
  }
  return out;
}

std::string zsh_definition(const CLI::App& command) {
  std::string options;
  for (const auto* option : named_options_of(command)) options += zsh_option(*option);
  if (!subcommands_of(command).empty()) {
    return fmt::format(
        "{}() {{\n  local curcontext=$curcontext state line\n  local -a commands\n"
        "  _arguments -C \\\n{}{}}}\n\n",
        zsh_function(command), options, zsh_commands(command));
  }
  return fmt::format("{}() {{\n  _arguments \\\n{}{}    && return 0\n}}\n\n", zsh_function(command), options,
                     zsh_positionals(command));
}

}  // namespace

std::string zsh_completion(const CLI::App& root) {
  std::string out =
      "#compdef perfbench\n"
      "# Completion of perfbench for zsh: `perfbench completion zsh` makes it from the declarations of its "
      "options.\n\n";
  for (const auto* command : whole_tree(root)) out += zsh_definition(*command);
  // As a file in $fpath it is the body of the function; read with `source`, it declares the function.
  return out +
         "if [ \"$funcstack[1]\" = _perfbench ]; then\n  _perfbench \"$@\"\nelse\n  compdef _perfbench perfbench\nfi\n";
}

}  // namespace perfbench::harness
