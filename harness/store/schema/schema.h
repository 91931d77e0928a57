// The schema of the database, and the upgrade of older ones. The SQL is in schema.sql and migrations/*.sql, which are
// embedded when perfbench is built.
#pragma once

#include <span>
#include <string_view>

namespace perfbench::harness {

struct Migration {
  int to_version;  // from version to_version - 1
  std::string_view sql;
};

struct Schema {
  std::string_view sql;                   // for a new database
  std::span<const Migration> migrations;  // ordered and contiguous, from version 2

  int version() const { return migrations.empty() ? 1 : migrations.back().to_version; }
};

Schema current_schema();

}  // namespace perfbench::harness
