#include "reports/listing/listed_table.h"

#include <fmt/core.h>

#include <utility>

#include "reports/format/number.h"
#include "reports/format/quantity.h"

namespace perfbench::reports {

ListedTable::ListedTable(std::string key, std::vector<Column> columns, const ListQuery& query,
                         const std::vector<std::string>& more_keys)
    : table_{.key = std::move(key), .columns = columns, .rows = {}},
      filter_(query.where, std::move(columns), more_keys),
      limit_(query.limit) {}

bool ListedTable::add(Row row, const std::map<std::string, std::string>& more) {
  if (!filter_.keeps(row, more)) return true;
  if (table_.rows.size() == limit_) {
    had_more_ = true;
    return false;
  }
  table_.rows.push_back(std::move(row));
  return true;
}

Document ListedTable::document() && {
  Document out;
  const bool is_empty = table_.rows.empty();
  const auto key = table_.key;
  out.add(std::move(table_));
  if (is_empty) out.add(Note{"no " + key + " fit"});
  if (had_more_)
    out.add(Note{fmt::format("These are the first {}; --limit N shows more, --where KEY=VALUE fewer.", limit_)});
  return out;
}

Cell count_cell(std::int64_t value) {
  return {std::to_string(value), Value(value)};
}

Cell number_cell(const std::optional<double>& value) {
  if (!value) return {kNothing, Value()};
  return {format_number(*value), Value(*value)};
}

Cell bytes_cell(std::int64_t bytes) {
  if (bytes == 0) return {kNothing, Value()};
  return {human_bytes(bytes), Value(bytes)};
}

}  // namespace perfbench::reports
