// Which rows of a table a person wants: KEY=PATTERN, where the key is a column's and * in the pattern stands for
// anything.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/document/document.h"

namespace perfbench::reports {

class TableFilter {
 public:
  // `more_keys` are keys that rows have beside their columns: the axes of cells. Throws InputError for a condition
  // without '=', and for an unknown key, with the nearest or all of them.
  TableFilter(const std::vector<std::string>& conditions, std::vector<Column> columns,
              const std::vector<std::string>& more_keys = {});

  // Whether every condition holds, of what people read in a cell or of what programs do. `more` are the values of those
  // of more_keys that the row has.
  bool keeps(const Row& row, const std::map<std::string, std::string>& more = {}) const;

  // Whether no row with these values, by key, can be kept, whatever else it has: where it has several of one key, one
  // of them is enough.
  bool excludes(const std::multimap<std::string, std::string>& known) const;

 private:
  struct Condition {
    std::string key;
    std::string pattern;
  };
  bool holds(const Condition& condition, const Row& row, const std::map<std::string, std::string>& more) const;

  std::vector<Column> columns_;
  std::vector<Condition> conditions_;
};

}  // namespace perfbench::reports
