// A contract struct as columns of a table: one column a scalar field, nested fields joined by '_' ("peak_total_bytes"),
// lists and maps left out (they have tables of their own). The field list is the only list.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/sqlite/sqlite.h"
#include "workloads/spec/fields.h"

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

// "INSERT INTO steps (attempt_key, version, ...) VALUES (?, ?, ...)": the key first, then the columns of T.
template <class T>
std::string insert_sql(const std::string& table) {
  std::string columns = "attempt_key";
  std::string marks = "?";
  for (const auto& name : column_names<T>()) {
    columns += ", " + name;
    marks += ", ?";
  }
  return "INSERT INTO " + table + " (" + columns + ") VALUES (" + marks + ")";
}

// Binds the columns of `value` from parameter `first` on.
template <class T>
void bind_columns(Statement& statement, int first, const T& value) {
  int parameter = first;
  for_each_scalar(value, [&](const spec::Field& field, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::integral<Member>) {
      if (field.absent_is_null && member == Member{}) {
        statement.bind(parameter, nullptr);  // which is read as 0 again
      } else {
        statement.bind(parameter, static_cast<std::int64_t>(member));
      }
    } else if constexpr (std::is_enum_v<Member>) {
      statement.bind(parameter, spec::enum_name(member));
    } else {
      statement.bind(parameter, member);
    }
    ++parameter;
  });
}

// Reads the columns of T from column `first` on, in the order of column_names.
template <class T>
void read_columns(const Statement& statement, int first, T& value) {
  int column = first;
  for_each_scalar(value, [&](const spec::Field&, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    if constexpr (std::same_as<Member, bool>) {
      member = statement.integer(column) != 0;
    } else if constexpr (std::integral<Member>) {
      member = static_cast<Member>(statement.integer(column));
    } else if constexpr (std::floating_point<Member>) {
      member = statement.real(column);
    } else {
      static_assert(std::same_as<Member, std::string>);
      member = statement.text(column);
    }
    ++column;
  });
}

}  // namespace perfbench::harness
