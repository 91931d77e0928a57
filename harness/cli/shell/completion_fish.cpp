#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "harness/cli/shell/command_tree.h"
#include "harness/cli/shell/completion_scripts.h"

namespace perfbench::harness {
namespace {

constexpr const char* kFishBegin =
    R"(# Completion of perfbench for fish: `perfbench completion fish` makes it from the declarations of its options.

# Whether the words after perfbench begin with these.
function __perfbench_in
    set -l words (commandline -opc)
    set -e words[1]
    set -l asked (count $argv)
    test $asked -eq 0; and return 0
    test (count $words) -ge $asked; and test "$words[1..$asked]" = "$argv"
end

# ... and are no more than these.
function __perfbench_at
    set -l words (commandline -opc)
    test (count $words) -eq (math 1 + (count $argv)); and __perfbench_in $argv
end

complete -c perfbench -f
)";

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// An option is followed only by its value (-x); if it takes a path, by any file as well (-F).
std::string fish_word(const CLI::Option& option) {
  const auto word = completed_word(option);
  switch (word.kind) {
    case WordKind::values:
      return " -a " + fish_quoted(fmt::to_string(fmt::join(word.values, " ")));
    case WordKind::file:
      return " -F";
    case WordKind::folder:
      return " -a '(__fish_complete_directories)'";
    case WordKind::free:
      break;
  }
  return "";
}

std::string fish_option(const std::string& condition, const CLI::Option& option) {
  std::string names;
  for (const auto& name : option.get_snames()) names += " -s " + name;
  for (const auto& name : option.get_lnames()) names += " -l " + name;
  const auto* const required = completed_word(option).kind == WordKind::file ? " -r" : " -x";
  const auto value = takes_value(option) ? required + fish_word(option) : "";
  return fmt::format("complete -c perfbench -n {}{}{} -d {}\n", condition, names, value,
                     fish_quoted(option.get_description()));
}

}  // namespace

std::string fish_completion(const CLI::App& root) {
  std::string out = kFishBegin;
  for (const auto* command : whole_tree(root)) {
    const auto words = command_words(*command);
    const bool has_commands = !subcommands_of(*command).empty();
    const auto at = fish_quoted(words.empty() ? "__perfbench_at" : "__perfbench_at " + words);
    const auto in = has_commands ? at : fish_quoted("__perfbench_in " + words);
    for (const auto* below : subcommands_of(*command)) {
      out += fmt::format("complete -c perfbench -n {} -a {} -d {}\n", at, below->get_name(),
                         fish_quoted(below->get_description()));
    }
    for (const auto* option : named_options_of(*command)) out += fish_option(in, *option);
    for (const auto* positional : positionals_of(*command)) {
      const auto word = fish_word(*positional);
      if (!word.empty()) out += fmt::format("complete -c perfbench -n {}{}\n", in, word);
    }
  }
  return out;
}

}  // namespace perfbench::harness
