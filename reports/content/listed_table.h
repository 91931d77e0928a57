// Which rows of a table a person wants: KEY=PATTERN, where the key is a column's and * in the pattern stands for
// anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/content/list_document.h"
#include "reports/render/document/document.h"

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

  // Of a row that has no more yet than the values of `keys`: whether there is a condition on one of them,
  bool asks_of(const std::set<std::string>& keys) const;
  // whether every such condition holds,
  bool may_keep(const Row& row, const std::set<std::string>& keys,
                const std::map<std::string, std::string>& more = {}) const;
  // and whether the conditions on `key` hold for some text that is not below `least`.
  bool may_keep_from(const std::string& key, const std::string& least) const;

 private:
  struct Condition {
    std::string key;
    std::string pattern;
  };
  bool holds(const Condition& condition, const Row& row, const std::map<std::string, std::string>& more) const;

  std::vector<Column> columns_;
  std::vector<Condition> conditions_;
};

// A table that is filled row by row, as far as its query goes.
class ListedTable {
 public:
  ListedTable(std::string key, std::vector<Column> columns, const ListQuery& query,
              const std::vector<std::string>& more_keys = {});

  // Whether rows are still wanted after this one, which may have been left out. `more` as of TableFilter::keeps.
  bool add(Row row, const std::map<std::string, std::string>& more = {});

  const TableFilter& filter() const { return filter_; }

  // With a note where there was more, or nothing.
  Document document() &&;

 private:
  Table table_;
  TableFilter filter_;
  std::size_t limit_;
  bool had_more_ = false;
};

}  // namespace perfbench::reports
