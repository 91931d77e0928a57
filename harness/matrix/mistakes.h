// Collects the mistakes of a matrix, so that one run reports them all. Include this in .cpp files only, because it
// needs the JSON library.
#pragma once

#include <exception>
#include <set>
#include <string>
#include <vector>

#include "harness/matrix/matrix_parts.h"
#include "harness/system/input_error.h"

namespace perfbench::harness {

class YamlDocument;

// Thrown by Mistakes::add when the search stops because there are too many mistakes. It is not an InputError, so that
// no note() catches it on its way out.
class TooManyMistakes : public std::exception {};

class Mistakes {
 public:
  explicit Mistakes(const YamlDocument& document) : document_(document) {}

  // Calls `read`, which reads what was written at `origin`, and records an InputError that it throws.
  template <class Read>
  void note(const Origin& origin, const Read& read) {
    try {
      read();
    } catch (const InputError& e) {
      add(origin, e.what());
    }
  }

  // `text` is a whole message, with its place. Equal messages are kept once. Throws TooManyMistakes.
  void add(const Origin& origin, const std::string& text);

  bool any() const { return !found_.empty(); }

  // Throws one InputError with a line for every mistake: those of the file in its order, then those of the command
  // line. If there are very many, only the first ones are named.
  void throw_if_any() const;

 private:
  struct Mistake {
    SourcePosition at;
    std::string text;
  };

  const YamlDocument& document_;
  std::set<std::string> texts_;
  std::vector<Mistake> found_;  // in order of their places; at the same place, in the order in which they were found
};

}  // namespace perfbench::harness
