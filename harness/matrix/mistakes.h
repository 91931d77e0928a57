// Collects what is wrong with a matrix, so that one run names every mistake. Include in .cpp files only: it pulls in
// the JSON library.
#pragma once

#include <exception>
#include <set>
#include <string>
#include <vector>

#include "harness/matrix/matrix_parts.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {

class YamlDocument;

// Thrown by Mistakes::add when there are so many that the rest is not looked for. It is no InputError, so that no
// note() stops it on its way to the end of the matrix.
class TooManyMistakes : public std::exception {};

class Mistakes {
 public:
  explicit Mistakes(const YamlDocument& document) : document_(document) {}

  // Calls `read`, which reads what was written at `origin`, and keeps the InputError that it may throw.
  template <class Read>
  void note(const Origin& origin, const Read& read) {
    try {
      read();
    } catch (const InputError& e) {
      add(origin, e.what());
    }
  }

  // `text` is a whole message, with its place. Equal ones are kept once. Throws TooManyMistakes.
  void add(const Origin& origin, const std::string& text);

  bool any() const { return !found_.empty(); }

  // One InputError with every mistake on a line of its own: those of the file in its order, then those of the command
  // line. Of very many only the first are named.
  void throw_if_any() const;

 private:
  struct Mistake {
    SourcePosition at;
    std::string text;
  };

  const YamlDocument& document_;
  std::set<std::string> texts_;
  std::vector<Mistake> found_;  // in order of their places; of one place in the order in which they were found
};

}  // namespace perfbench::harness
