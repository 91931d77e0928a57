// The schema of the database and how an older one is brought up to it. The SQL is in schema.sql and migrations/*.sql,
// embedded when perfbench is built.
#pragma once

#include <span>
#include <string_view>

namespace perfbench::harness {

struct Migration {
  int to_version;  // from to_version - 1
  std::string_view sql;
};

struct Schema {
  std::string_view sql;                   // a new database
  std::span<const Migration> migrations;  // ordered, contiguous, from version 2

  int version() const { return migrations.empty() ? 1 : migrations.back().to_version; }
};

Schema current_schema();

}  // namespace perfbench::harness
