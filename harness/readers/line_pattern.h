// A regular expression in RE2's syntax. A search takes time in proportion to the line, whatever the expression: those
// of a person cannot make a reader hang.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace perfbench::readers {

// The expression cannot be used; the message quotes it and says why.
class PatternError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class LinePattern {
 public:
  // Throws PatternError.
  explicit LinePattern(std::string_view regex);
  LinePattern(LinePattern&&) noexcept;
  ~LinePattern();

  // Of its groups, in their order; "" for a group without a name.
  const std::vector<std::string>& names() const { return names_; }

  // Finds it anywhere in the line. groups()[i] is then the text of names()[i]; its data() is null for a group that took
  // no part. Both are views into the line.
  bool search(std::string_view line);
  const std::vector<std::string_view>& groups() const { return groups_; }
  std::string_view before() const { return before_; }  // the match
  std::string_view after() const { return after_; }    // the match

 private:
  std::unique_ptr<re2::RE2> regex_;
  std::vector<std::string> names_;
  std::vector<std::string_view> groups_;
  std::string_view before_;
  std::string_view after_;
};

}  // namespace perfbench::readers
