// Selects rows of a table: KEY=PATTERN, where the key names a column and * in the pattern matches any text.
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
  // `more_keys` are keys of rows that are not columns: the axes of cells. Throws InputError for a condition without
  // '=', and for an unknown key, suggesting the closest one or all of them.
  TableFilter(const std::vector<std::string>& conditions, std::vector<Column> columns,
              const std::vector<std::string>& more_keys = {});

  // Whether the row meets every condition, in the form for people or in that for programs. `more` has the values of
  // those of more_keys that the row has.
  bool keeps(const Row& row, const std::map<std::string, std::string>& more = {}) const;

  // For a row that has only the values of `keys` so far: whether there is a condition on one of them,
  bool asks_of(const std::set<std::string>& keys) const;
  // whether all these conditions are met,
  bool may_keep(const Row& row, const std::set<std::string>& keys,
                const std::map<std::string, std::string>& more = {}) const;
  // and whether some text that is not below `least` can meet the conditions on `key`.
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

// A table that is filled row by row, up to the limit of its query.
class ListedTable {
 public:
  ListedTable(std::string key, std::vector<Column> columns, const ListQuery& query,
              const std::vector<std::string>& more_keys = {});

  // Returns whether more rows are wanted. This row may have been left out. `more` is that of TableFilter::keeps.
  bool add(Row row, const std::map<std::string, std::string>& more = {});

  const TableFilter& filter() const { return filter_; }

  // With a note if there were more rows, or none.
  Document document() &&;

 private:
  Table table_;
  TableFilter filter_;
  std::size_t limit_;
  std::string remedy_;
  bool had_more_ = false;
};

}  // namespace perfbench::reports
