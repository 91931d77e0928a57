// A contract struct as columns of a table: one column a scalar field, nested fields joined by '_' ("peak_total_bytes"),
// lists and maps left out (they have tables of their own). The field list is the only list.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/sqlite/sqlite.h"
#include "workloads/spec/fields.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

template <class T>
inline constexpr bool kIsCollection = false;
template <class T>
inline constexpr bool kIsCollection<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsCollection<std::map<std::string, T>> = true;

// Calls visit(field, member) for every scalar, in the order of the field list.
template <class T, class F>
void for_each_scalar(T& value, const F& visit) {
  auto step = [&visit](const spec::Field& field, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (spec::HasFields<Member>) {
      for_each_scalar(member, visit);
    } else if constexpr (!kIsCollection<Member>) {
      visit(field, member);
    }
  };
  T::fields(value, step);
}

template <class T>
void append_column_names(T& value, const std::string& prefix, std::vector<std::string>& out) {
  auto step = [&](const spec::Field& field, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    const std::string name = prefix + std::string(field.name);
    if constexpr (spec::HasFields<Member>) {
      append_column_names(member, name + "_", out);
    } else if constexpr (!kIsCollection<Member>) {
      out.push_back(name);
    }
  };
  T::fields(value, step);
}

template <class T>
std::vector<std::string> column_names() {
  std::vector<std::string> names;
  T value{};
  append_column_names(value, "", names);
  return names;
}

// Columns of a table that are no fields of its rows: keys of other rows.
using KeyColumns = std::vector<std::pair<std::string, std::int64_t>>;

// "INSERT INTO steps (attempt_key, version, ...) VALUES (?, ?, ...)": the keys first, then the columns of T.
template <class T>
std::string insert_sql(const std::string& table, const KeyColumns& keys) {
  std::string columns;
  std::string marks;
  const auto add = [&](const std::string& name) {
    columns += (columns.empty() ? "" : ", ") + name;
    marks += marks.empty() ? "?" : ", ?";
  };
  for (const auto& [name, key] : keys) add(name);
  for (const auto& name : column_names<T>()) add(name);
  return "INSERT INTO " + table + " (" + columns + ") VALUES (" + marks + ")";
}

// 0 or "" of a field with absent_is_null is NULL, and is read as that again.
template <class Member>
void bind_value(Statement& statement, int parameter, const spec::Field& field, const Member& member) {
  if constexpr (std::is_enum_v<Member>) {
    statement.bind(parameter, spec::enum_name(member));
  } else if constexpr (std::integral<Member>) {
    if (field.absent_is_null && member == Member{}) return statement.bind(parameter, nullptr);
    statement.bind(parameter, static_cast<std::int64_t>(member));
  } else {
    if constexpr (std::same_as<Member, std::string>) {
      if (field.absent_is_null && member.empty()) return statement.bind(parameter, nullptr);
    }
    statement.bind(parameter, member);
  }
}
template <class Member>
void bind_value(Statement& statement, int parameter, const spec::Field& field, const std::optional<Member>& member) {
  member ? bind_value(statement, parameter, field, *member) : statement.bind(parameter, nullptr);
}

// Binds the columns of `value` from parameter `first` on.
template <class T>
void bind_columns(Statement& statement, int first, const T& value) {
  int parameter = first;
  for_each_scalar(
      value, [&](const spec::Field& field, const auto& member) { bind_value(statement, parameter++, field, member); });
}

template <class T>
void insert_rows(Connection& db, const std::string& table, const KeyColumns& keys, const std::vector<T>& rows) {
  Statement insert(db, insert_sql<T>(table, keys));
  for (const auto& row : rows) {
    int parameter = 0;
    for (const auto& [name, key] : keys) insert.bind(++parameter, key);
    bind_columns(insert, parameter + 1, row);
    insert.step();
    insert.reset();
  }
}

template <class Member>
void read_column(const Statement& statement, int column, const spec::Field& field, Member& member) {
  if constexpr (std::same_as<Member, bool>) {
    member = statement.integer(column) != 0;
  } else if constexpr (std::integral<Member>) {
    member = static_cast<Member>(statement.integer(column));
  } else if constexpr (std::floating_point<Member>) {
    member = statement.real(column);
  } else if constexpr (std::is_enum_v<Member>) {
    const auto text = statement.text(column);
    const auto value = spec::enum_value<Member>(text);
    if (!value) {
      throw spec::SpecError("", std::string(field.name) + " is '" + text + "', which this perfbench does not know");
    }
    member = *value;
  } else {
    static_assert(std::same_as<Member, std::string>);
    member = statement.text(column);
  }
}
template <class Member>
void read_column(const Statement& statement, int column, const spec::Field& field, std::optional<Member>& member) {
  member.reset();
  if (!statement.is_null(column)) read_column(statement, column, field, member.emplace());
}

// Reads the columns of T from column `first` on, in the order of column_names. Throws SpecError for a word that the
// enumeration of its field does not have.
template <class T>
void read_columns(const Statement& statement, int first, T& value) {
  int column = first;
  for_each_scalar(value,
                  [&](const spec::Field& field, auto& member) { read_column(statement, column++, field, member); });
}

// The rows of a table as T, with further columns after those of T. `rest` is what follows "FROM table".
template <class T>
std::string select_sql(const std::string& table, const std::string& rest, const std::string& more_columns = "") {
  std::string columns;
  for (const auto& name : column_names<T>()) columns += (columns.empty() ? "" : ", ") + name;
  return "SELECT " + columns + more_columns + " FROM " + table + " " + rest;
}

// The rows that belong to `owner`, by `order`. Throws as read_columns does.
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
