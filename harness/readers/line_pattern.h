// A regular expression in RE2's syntax. The time of a search is proportional to the length of the line, whatever the
// expression. So an expression that a user wrote cannot make a reader hang.
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

// The expression is not usable. The message quotes it and says why.
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

  // The names of its groups in order; "" for a group without a name.
  const std::vector<std::string>& names() const { return names_; }

  // Searches for a match anywhere in the line. Afterwards groups()[i] is the text of the group names()[i]; its data()
  // is null if the group did not take part. Both are views into the line.
  bool search(std::string_view line);
  const std::vector<std::string_view>& groups() const { return groups_; }
  std::string_view before() const { return before_; }  // the part of the line up to the match
  std::string_view after() const { return after_; }    // the part of the line behind the match

 private:
  std::unique_ptr<re2::RE2> regex_;
  std::vector<std::string> names_;
  std::vector<std::string_view> groups_;
  std::string_view before_;
  std::string_view after_;
};

}  // namespace perfbench::readers
