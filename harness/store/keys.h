// Look-ups of integer keys, for the writers of the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/sqlite/sqlite.h"

namespace perfbench::harness {

// First column of the first row, or nothing.
template <class... T>
std::optional<std::int64_t> find_key(const Connection& db, const std::string& sql, const T&... values) {
  Statement statement(db, sql);
  statement.with(values...);
  if (!statement.step()) return std::nullopt;
  return statement.integer(0);
}

// Key of `name` in the table `names`, added if new.
std::int64_t name_key(Connection& db, std::string_view name);

}  // namespace perfbench::harness
