// The scripts of completion.h, one file for each shell, and what they share.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace perfbench::harness {

// What may stand for the value of an option, or for a positional.
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
CompletedWord completed_word(const CLI::Option& option);

// How many words an option takes; of one that may be repeated, each time.
int words_taken(const CLI::Option& option);

std::string bash_completion(const CLI::App& root);
std::string zsh_completion(const CLI::App& root);
std::string fish_completion(const CLI::App& root);

}  // namespace perfbench::harness
