// The scripts of completion.h, one file for each shell, and their common parts.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace perfbench::harness {

// The kind of value of an option or a positional.
enum class WordKind {
  free,    // any word: nothing is offered
  values,  // one of a list
  file,
  folder,
};

struct CompletedWord {
  WordKind kind = WordKind::free;
  std::vector<std::string> values;
};

// Derived from the option's type name: a list of names, METRIC, FILE, DATABASE, FOLDER, PATH, or another.
CompletedWord completed_word(const CLI::Option& option);

// The number of words that an option takes; for a repeatable one, each time.
int words_taken(const CLI::Option& option);

std::string bash_completion(const CLI::App& root);
std::string zsh_completion(const CLI::App& root);
std::string fish_completion(const CLI::App& root);

}  // namespace perfbench::harness
