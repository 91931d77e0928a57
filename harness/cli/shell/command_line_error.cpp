#include "harness/cli/shell/command_line_error.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "harness/cli/shell/command_tree.h"
#include "harness/cli/shell/listed_values.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const auto near = spec::nearest(word, names);
  return near ? " (did you mean '" + *near + "'?)" : "";
}

std::string for_example(const CLI::App& command) {
  const auto examples = examples_of(command);
  return examples.empty() ? "" : "\n  for example: " + examples.front();
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> out;
  for (const auto* option : named_options_of(command)) {
    for (auto& name : names_of(*option)) out.push_back(std::move(name));
  }
  return out;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> out;
  for (const auto* below : subcommands_of(command)) out.push_back(below->get_name());
  return out;
}

// A word that no option or command accepted, with the command to which it was given.
struct LeftOver {
  const CLI::App* command = nullptr;
  std::string word;
};

std::optional<LeftOver> left_over(const CLI::App& root) {
  for (const auto* command = &root;;) {
    for (const auto& word : command->remaining()) {
      if (word != "--") return LeftOver{command, word};
    }
    const auto chosen = command->get_subcommands();
    if (chosen.empty()) return std::nullopt;
    command = chosen.front();
  }
}

bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

std::string unknown_option(const CLI::App& root, const LeftOver& left) {
  const auto option = left.word.substr(0, left.word.find('='));
  const auto& chosen = chosen_command(root);
  if (&chosen != left.command && chosen.get_option_no_throw(option) != nullptr) {
    return fmt::format("'{}': is an option of `{}` and follows it", option, whole_command(chosen));
  }
  return fmt::format("'{}': there is no such option{}; `{} --help` lists all", option,
                     did_you_mean(option, option_names(*left.command)), whole_command(*left.command));
}

std::string unknown_command(const LeftOver& left) {
  const auto names = command_names(*left.command);
  return fmt::format("'{}': there is no such command{}; the commands are:\n  {}\n  `{} --help` describes each",
                     left.word, did_you_mean(left.word, names), fmt::join(names, ", "), whole_command(*left.command));
}

std::string word_too_many(const LeftOver& left) {
  std::string taken;
  for (const auto* positional : positionals_of(*left.command)) taken += " " + positional->get_name(true);
  return fmt::format("'{}': is one word too many; the form is `{} [OPTIONS]{}`{}", left.word,
                     whole_command(*left.command), taken, for_example(*left.command));
}

std::string of_left_over(const CLI::App& root, const LeftOver& left) {
  if (looks_like_option(left.word)) return unknown_option(root, left);
  const bool wants_command = !subcommands_of(*left.command).empty() && left.command->get_subcommands().empty();
  return wants_command ? unknown_command(left) : word_too_many(left);
}

std::string missing(const CLI::App& command) {
  for (const auto* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    return fmt::format("{} is missing: {}{}", option->get_name(), option->get_description(), for_example(command));
  }
  return fmt::format("a command is missing: give {}{}", alternatives(command_names(command)), for_example(command));
}

std::string needs_another(const CLI::App& command) {
  for (const auto* option : command.get_options()) {
    for (const auto* needed : option->get_needs()) {
      if (option->count() == 0 || needed->count() > 0) continue;
      return fmt::format("{0}: only works with {1}; add {1}, or leave {0} out", option->get_name(), needed->get_name());
    }
  }
  return "";
}

std::string excludes_another(const CLI::App& command) {
  for (const auto* option : command.get_options()) {
    for (const auto* other : option->get_excludes()) {
      if (option->count() == 0 || other->count() == 0) continue;
      return fmt::format("{0}: cannot be combined with {1}; leave one of the two out", option->get_name(),
                         other->get_name());
    }
  }
  return "";
}

// The parser's own messages begin with the option's name.
const CLI::Option* option_that_is_named(const CLI::App& command, const std::string& message) {
  for (const auto* option : command.get_options()) {
    if (message.starts_with(option->get_name() + ": ")) return option;
  }
  return nullptr;
}

std::string wrong_count(const CLI::App& command, const std::string& message) {
  const auto* option = option_that_is_named(command, message);
  if (option == nullptr) return message;
  const auto most = static_cast<std::size_t>(std::max(option->get_items_expected_max(), 1));
  if (option->count() > most) {
    return fmt::format("{}: {} values were given, but it takes {}; leave the others out", option->get_name(),
                       option->count(), most);
  }
  const auto wanted = most == 1 || may_be_repeated(*option) ? "a value" : fmt::format("{} values", most);
  return fmt::format("{0}: takes {1}; give {0} {2}", option->get_name(), wanted, option->get_type_name());
}

std::string not_a_flag_value(const CLI::App& command, const std::string& message) {
  for (const auto* option : command.get_options()) {
    if (option->count() == 0 || message != CLI::ConversionError(option->get_name(), option->results()).what()) continue;
    return fmt::format("{0} '{1}': takes no value; give only {0}, or leave it out", option->get_name(),
                       fmt::join(option->results(), " "));
  }
  return message;
}

// Whether a message is about a value that came from the environment.
bool is_from_environment(const CLI::App& command, const CLI::Option& option) {
  const auto& given = command.parse_order();
  return !option.get_envname().empty() && std::find(given.begin(), given.end(), &option) == given.end();
}

std::string refused_value(const CLI::App& command, const std::string& message) {
  const auto* option = option_that_is_named(command, message);
  if (option == nullptr) return message;
  const auto name = is_from_environment(command, *option) ? option->get_envname() : option->get_name();
  const auto complaint = message.substr(option->get_name().size() + std::string_view(": ").size());
  return name + (complaint.starts_with('\'') ? " " : ": ") + complaint;
}

std::string explained(const CLI::App& command, const CLI::ParseError& error) {
  const std::string message = error.what();
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return refused_value(command, message);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return missing(command);
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) return needs_another(command);
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) return excludes_another(command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return wrong_count(command, message);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return not_a_flag_value(command, message);
  return message;
}

std::string room(const CLI::App& command) {
  const auto words = command_words(command);
  return "[" + (words.empty() ? "perfbench" : words) + "] ";
}

}  // namespace

std::string command_line_error(const CLI::App& root, const CLI::ParseError& error) {
  // If an option is misspelt, its value is taken for something else; an error about that would not help.
  const auto left = left_over(root);
  const bool is_surplus =
      dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !subcommands_of(chosen_command(root)).empty());
  if (left && (is_surplus || looks_like_option(left->word))) return room(*left->command) + of_left_over(root, *left);
  const auto& command = chosen_command(root);
  const auto text = explained(command, error);
  return room(command) + (text.empty() ? std::string(error.what()) : text);
}

}  // namespace perfbench::harness
