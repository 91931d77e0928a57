#include "harness/store/columns.h"

#include <stdexcept>

#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

std::int64_t name_key(Connection& db, std::string_view name) {
  if (const auto known = find_key(db, "SELECT name_key FROM names WHERE name = ?", name)) return *known;
  Statement(db, "INSERT INTO names (name) VALUES (?)").run(name);
  return db.last_insert_key();
}

namespace {

using spec::MemberKind;
using spec::MemberType;

void append_columns(const spec::FieldTable& table, const std::string& prefix, std::size_t offset, Columns& out) {
  for (auto member : table.fields) {
    member.offset += offset;
    const auto name = prefix + std::string(member.field.name);
    if (member.type->kind == MemberKind::record) {
      append_columns(member.type->fields(), name + "_", member.offset, out);
    } else if (member.type->kind != MemberKind::list && member.type->kind != MemberKind::mapping) {
      out.push_back({name, member});
    }
  }
}

// "INSERT INTO steps (attempt_key, version, ...) VALUES (?, ?, ...)"
std::string insert_sql(const std::string& table, const KeyColumns& keys, const std::string& numbered,
                       const Columns& columns) {
  std::string names;
  std::string marks;
  const auto add = [&](const std::string& name) {
    names += (names.empty() ? "" : ", ") + name;
    marks += marks.empty() ? "?" : ", ?";
  };
  for (const auto& [name, key] : keys) add(name);
  if (!numbered.empty()) add(numbered);
  for (const auto& column : columns) add(column.name);
  return "INSERT INTO " + table + " (" + names + ") VALUES (" + marks + ")";
}

// For a field with absent_is_null, 0 or "" is stored as NULL and read back as such.
void bind_value(Statement& statement, int parameter, const spec::Field& field, const MemberType& type,
                const void* value) {
  switch (type.kind) {
    case MemberKind::boolean:
    case MemberKind::integer: {
      const auto number = type.kind == MemberKind::boolean ? static_cast<std::int64_t>(*static_cast<const bool*>(value))
                                                           : *static_cast<const std::int64_t*>(value);
      if (field.absent_is_null && number == 0) return statement.bind(parameter, nullptr);
      return statement.bind(parameter, number);
    }
    case MemberKind::number:
      return statement.bind(parameter, *static_cast<const double*>(value));
    case MemberKind::text: {
      const auto& text = *static_cast<const std::string*>(value);
      if (field.absent_is_null && text.empty()) return statement.bind(parameter, nullptr);
      return statement.bind(parameter, std::string_view(text));
    }
    case MemberKind::word:
      return statement.bind(parameter, spec::word_of(type, value));
    case MemberKind::optional: {
      const auto held = type.values(value);
      if (held.empty()) return statement.bind(parameter, nullptr);
      return bind_value(statement, parameter, field, *type.held, held.front().value);
    }
    default:
      throw std::logic_error(std::string(field.name) + " is not a column");
  }
}

void read_value(const Statement& statement, int column, const spec::Field& field, const MemberType& type, void* out) {
  switch (type.kind) {
    case MemberKind::boolean:
      *static_cast<bool*>(out) = statement.integer(column) != 0;
      return;
    case MemberKind::integer:
      *static_cast<std::int64_t*>(out) = statement.integer(column);
      return;
    case MemberKind::number:
      *static_cast<double*>(out) = statement.real(column);
      return;
    case MemberKind::text:
      *static_cast<std::string*>(out) = statement.text(column);
      return;
    case MemberKind::word: {
      const auto text = statement.text(column);
      if (spec::set_by_word(type, out, text)) return;
      throw spec::SpecError("", std::string(field.name) + " is '" + text + "', which this perfbench does not know");
    }
    case MemberKind::optional:
      type.clear(out);
      if (!statement.is_null(column)) read_value(statement, column, field, *type.held, type.add(out, ""));
      return;
    default:
      throw std::logic_error(std::string(field.name) + " is not a column");
  }
}

}  // namespace

Columns columns_of(const spec::FieldTable& table) {
  Columns out;
  append_columns(table, "", 0, out);
  return out;
}

std::vector<std::string> column_names(const Columns& columns) {
  std::vector<std::string> names;
  for (const auto& column : columns) names.push_back(column.name);
  return names;
}

std::string column_list(const Columns& columns, const std::string& prefix) {
  std::string list;
  for (const auto& column : columns) list += (list.empty() ? "" : ", ") + prefix + column.name;
  return list;
}

void insert_rows(Connection& db, const std::string& table, const KeyColumns& keys, const RowSpan& rows,
                 const std::string& numbered) {
  Statement insert(db, insert_sql(table, keys, numbered, rows.columns));
  for (std::size_t row = 0; row < rows.count; ++row) {
    const void* const record = static_cast<const std::byte*>(rows.first) + row * rows.row_size;
    int parameter = 0;
    for (const auto& [name, key] : keys) insert.bind(++parameter, key);
    if (!numbered.empty()) insert.bind(++parameter, static_cast<std::int64_t>(row));
    for (const auto& [name, member] : rows.columns) {
      bind_value(insert, ++parameter, member.field, *member.type, member.in(record));
    }
    insert.step();
    insert.reset();
  }
}

void read_columns(const Statement& statement, int first, const Columns& columns, void* row) {
  int column = first;
  for (const auto& [name, member] : columns) {
    read_value(statement, column++, member.field, *member.type, member.in(row));
  }
}

std::string select_sql(const Columns& columns, const std::string& table, const std::string& rest,
                       const std::string& more_columns) {
  return "SELECT " + column_list(columns) + more_columns + " FROM " + table + " " + rest;
}

}  // namespace perfbench::harness
