#include "harness/cli/shell/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/cli/shell/command_tree.h"
#include "harness/cli/shell/listed_values.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
namespace {

constexpr const char* kBashBegin =
    R"(# Completion of perfbench for bash: `perfbench completion bash` makes it from the declarations of its options.

)";

// Commands come first, then options with their values and positionals in any order. bash takes "--option=value" apart
// into three words.
constexpr const char* kBashEnd = R"(
_perfbench() {
  local current=${COMP_WORDS[COMP_CWORD]} command= option= word= kind= words=
  local -i index=1 place=1 takes=0 missing=0
  COMPREPLY=()
  for (( ; index < COMP_CWORD; index++)); do
    word=${COMP_WORDS[index]}
    _perfbench_is_command "${command:+$command }$word" || break
    command=${command:+$command }$word
  done
  for (( ; index < COMP_CWORD; index++)); do
    word=${COMP_WORDS[index]}
    if [[ $word == '=' ]]; then
      continue
    elif ((missing > 0)); then
      missing=missing-1
    elif [[ $word == -* ]]; then
      option=$word
      _perfbench_value "$command $option"
      missing=takes
    else
      place=place+1
    fi
  done
  [[ $current != '=' ]] || current=
  if ((missing > 0)); then
    _perfbench_value "$command $option"
  elif [[ $current != -* ]]; then
    _perfbench_value "$command #$place"
  else
    kind=
  fi
  if [[ -z $kind ]]; then
    _perfbench_options "$command"
    kind=values
  fi
  case $kind in
    values) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    file)
      compopt -o filenames 2>/dev/null || :
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      ;;
    folder)
      compopt -o filenames 2>/dev/null || :
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      ;;
  esac
}

complete -F _perfbench perfbench
)";

// The words that may stand for the value of an option, or for a positional.
enum class WordKind {
  free,    // a word of its own: nothing is offered
  values,  // one of a list
  file,
  folder,
};

struct CompletedWord {
  WordKind kind = WordKind::free;
  std::vector<std::string> values;
};

// By the option's type name: a list of names, METRIC, FILE, DATABASE, FOLDER, PATH, or another.
CompletedWord completed_word(const CLI::Option& option) {
  const auto type = option.get_type_name();
  if (type == "FOLDER" || type.ends_with(" or FOLDER")) return {.kind = WordKind::folder};
  if (type == "METRIC") {
    CompletedWord out{.kind = WordKind::values};
    for (const auto& metric : spec::kMetricCatalog) out.values.emplace_back(metric.tag);
    return out;
  }
  // Also matches "FILE|published:SYSTEM/ID", of which the file can be completed.
  for (const auto* path : {"FILE", "DATABASE", "PATH"}) {
    if (type.starts_with(path)) return {.kind = WordKind::file};
  }
  auto values = values_of_type(type);
  if (values.empty()) return {};
  return {.kind = WordKind::values, .values = std::move(values)};
}

// How many words an option takes; of one that may be repeated, each time.
int words_taken(const CLI::Option& option) {
  return may_be_repeated(option) ? 1 : option.get_items_expected_max();
}

std::string bash_kind(const CompletedWord& word) {
  switch (word.kind) {
    case WordKind::values:
      return fmt::format("kind=values words='{}'", fmt::join(word.values, " "));
    case WordKind::file:
      return "kind=file";
    case WordKind::folder:
      return "kind=folder";
    case WordKind::free:
      break;
  }
  return "kind=free";
}

void append_bash_values(const CLI::App& command, std::string& out) {
  const auto words = command_words(command);
  for (const auto* option : named_options_of(command)) {
    if (!takes_value(*option)) continue;
    for (const auto& name : names_of(*option)) {
      out += fmt::format("    '{} {}') {} takes={} ;;\n", words, name, bash_kind(completed_word(*option)),
                         words_taken(*option));
    }
  }
  std::size_t place = 0;
  for (const auto* positional : positionals_of(command)) {
    const auto which = may_be_repeated(*positional) ? "#'*" : fmt::format("#{}'", ++place);
    out += fmt::format("    '{} {}) {} ;;\n", words, which, bash_kind(completed_word(*positional)));
  }
  std::vector<std::string> below;
  for (const auto* subcommand : subcommands_of(command)) below.push_back(subcommand->get_name());
  if (!below.empty()) out += fmt::format("    '{} #1') kind=values words='{}' ;;\n", words, fmt::join(below, " "));
}

}  // namespace

std::string bash_completion(const CLI::App& root) {
  std::string is_command;
  std::string options;
  std::string values;
  for (const auto* command : whole_tree(root)) {
    const auto words = command_words(*command);
    if (!words.empty()) is_command += fmt::format("    '{}') return 0 ;;\n", words);
    std::vector<std::string> names;
    for (const auto* option : named_options_of(*command)) {
      for (auto& name : names_of(*option)) names.push_back(std::move(name));
    }
    options += fmt::format("    '{}') words='{}' ;;\n", words, fmt::join(names, " "));
    append_bash_values(*command, values);
  }
  return kBashBegin + ("_perfbench_is_command() {\n  case $1 in\n" + is_command + "  esac\n  return 1\n}\n\n") +
         ("_perfbench_options() {\n  case $1 in\n" + options + "  esac\n}\n\n") +
         "# What an option of a command takes, or a positional by its place (\"report --db\", \"sweep #1\").\n" +
         ("_perfbench_value() {\n  kind= words= takes=0\n  case $1 in\n" + values + "  esac\n}\n") + kBashEnd;
}

}  // namespace perfbench::harness
