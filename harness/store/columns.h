// Finds integer keys for the writers of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/store/sqlite.h"
#include "workloads/spec/field_table.h"

namespace perfbench::harness {

// The first column of the first row; nullopt if there is no row.
template <class... T>
std::optional<std::int64_t> find_key(const Connection& db, const std::string& sql, const T&... values) {
  Statement statement(db, sql);
  statement.with(values...);
  if (!statement.step()) return std::nullopt;
  return statement.integer(0);
}

// The key of `name` in the table `names`; adds it if it is new.
std::int64_t name_key(Connection& db, std::string_view name);

// A struct with a field list as columns of a table: one column for each scalar field, with nested fields joined by '_'
// ("peak_total_bytes"). Lists and mappings are left out, because they have separate tables. The field list is the only
// list of columns. `member.offset` counts from the start of the row's struct, however deep the field is nested.
struct Column {
  std::string name;
  spec::TableField member;
};
using Columns = std::vector<Column>;

// In the order of the field list.
Columns columns_of(const spec::FieldTable& table);

template <class T>
const Columns& columns_of() {
  static const auto kColumns = columns_of(spec::field_table<T>());
  return kColumns;
}

std::vector<std::string> column_names(const Columns& columns);

// "version, rank, step": the names for a SELECT, each with `prefix` in front.
std::string column_list(const Columns& columns, const std::string& prefix = "");

// Columns of a table that are not fields of its rows: keys of other rows.
using KeyColumns = std::vector<std::pair<std::string, std::int64_t>>;

// Rows of one type, contiguous in memory.
struct RowSpan {
  const Columns& columns;
  const void* first;
  std::size_t count;
  std::size_t row_size;
};

// Executes an INSERT for each row. The keys come before the columns. `numbered` is a column that numbers the rows from
// 0; empty: there is none.
void insert_rows(Connection& db, const std::string& table, const KeyColumns& keys, const RowSpan& rows,
                 const std::string& numbered);

template <class T>
void insert_rows(Connection& db, const std::string& table, const KeyColumns& keys, const std::vector<T>& rows,
                 const std::string& numbered = "") {
  insert_rows(db, table, keys, {columns_of<T>(), rows.data(), rows.size(), sizeof(T)}, numbered);
}

// Reads `columns`, starting at column `first` of the statement. Throws SpecError for a word that the enumeration of its
// field does not have.
void read_columns(const Statement& statement, int first, const Columns& columns, void* row);

template <class T>
void read_columns(const Statement& statement, int first, T& row) {
  read_columns(statement, first, columns_of<T>(), &row);
}

// Selects the rows of a table, with more columns after `columns`. `rest` follows "FROM table".
std::string select_sql(const Columns& columns, const std::string& table, const std::string& rest,
                       const std::string& more_columns = "");

template <class T>
std::string select_sql(const std::string& table, const std::string& rest, const std::string& more_columns = "") {
  return select_sql(columns_of<T>(), table, rest, more_columns);
}

// The rows that belong to `owner`, sorted by `order`. Throws as read_columns does.
template <class T>
std::vector<T> read_rows(const Connection& db, const std::string& table,
                         const std::pair<std::string, std::int64_t>& owner, const std::string& order) {
  Statement rows(db, select_sql<T>(table, "WHERE " + owner.first + " = ? ORDER BY " + order));
  rows.with(owner.second);
  std::vector<T> out;
  while (rows.step()) read_columns(rows, 0, out.emplace_back());
  return out;
}

}  // namespace perfbench::harness
