// What the schema itself says of a table, so that rows go from one database to another without a second list of tables
// and columns.
#pragma once

#include <string>
#include <vector>

#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

struct Reference {
  std::string column;
  std::string table;  // whose key the column holds
};

// Two kinds of tables. One with a key: its rows are things of their own, and the columns of its UNIQUE constraint (all
// columns if it has none) name a row in every database. One without: its rows are parts of the row that `owner` refers
// to, taken or left with it.
struct TableShape {
  std::string name;
  std::vector<std::string> primary;   // the columns of its primary key
  std::string key;                    // an integer that means something in one database only
  std::vector<std::string> columns;   // without the key
  std::vector<std::string> identity;  // of a table with a key
  std::vector<Reference> references;
  Reference owner;  // of a table without a key; one of the references

  bool has(const std::string& column) const;
  const Reference* reference(const std::string& column) const;  // null: it holds a value of its own
};

// Of every table, each after those that it refers to. Throws std::logic_error for a schema with another kind of table.
std::vector<TableShape> table_shapes(const Connection& db);

}  // namespace perfbench::harness
