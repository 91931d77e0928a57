// Notes of a table's rows, numbered in the order of their first use: rows that say the same share one.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace perfbench::reports {

class Footnotes {
 public:
  // Counted from 1.
  std::size_t number(const std::string& note);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> notes_;
  std::unordered_map<std::string, std::size_t> numbers_;  // a report has a note for each of thousands of rows
};

}  // namespace perfbench::reports
