// A table that is filled row by row, as far as its query goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/document/document.h"
#include "reports/listing/list_document.h"
#include "reports/listing/table_filter.h"

namespace perfbench::reports {

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

// Numbers as cells.
Cell count_cell(std::int64_t value);
Cell number_cell(const std::optional<double>& value);  // four digits; empty without one
Cell bytes_cell(std::int64_t bytes);                   // empty for 0

}  // namespace perfbench::reports
