#include "harness/transfer/table_shape.h"

#include <algorithm>
#include <stdexcept>

namespace perfbench::harness {
namespace {

std::vector<std::string> first_column(const Connection& db, const std::string& sql, const std::string& value) {
  Statement rows(db, sql);
  rows.with(value);
  std::vector<std::string> out;
  while (rows.step()) out.push_back(rows.text(0));
  return out;
}

std::vector<Reference> references_of(const Connection& db, const std::string& table) {
  Statement rows(db, "SELECT \"from\", \"table\" FROM pragma_foreign_key_list(?, 'main') ORDER BY id DESC, seq");
  rows.with(table);
  std::vector<Reference> out;
  while (rows.step()) out.push_back({rows.text(0), rows.text(1)});
  return out;
}

TableShape shape_of(const Connection& db, const std::string& table) {
  TableShape out;
  out.name = table;
  out.references = references_of(db, table);
  out.columns = first_column(db, "SELECT name FROM pragma_table_info(?, 'main') ORDER BY cid", table);
  out.primary = first_column(db, "SELECT name FROM pragma_table_info(?, 'main') WHERE pk > 0 ORDER BY pk", table);
  if (out.primary.empty()) throw std::logic_error("the table " + table + " has no primary key");
  if (const auto* owner = out.reference(out.primary[0])) {
    out.owner = *owner;
    return out;
  }
  if (out.primary.size() > 1) {
    throw std::logic_error("the primary key of the table " + table + " begins with no reference to another table");
  }
  out.key = out.primary[0];
  std::erase(out.columns, out.key);
  out.identity = first_column(db,
                              "SELECT i.name FROM pragma_index_info((SELECT name FROM pragma_index_list(?, 'main') "
                              "WHERE origin = 'u' ORDER BY seq DESC LIMIT 1), 'main') i ORDER BY i.seqno",
                              table);
  if (out.identity.empty()) out.identity = out.columns;
  return out;
}

}  // namespace

bool TableShape::has(const std::string& column) const {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

const Reference* TableShape::reference(const std::string& column) const {
  const auto found =
      std::find_if(references.begin(), references.end(), [&](const Reference& r) { return r.column == column; });
  return found == references.end() ? nullptr : &*found;
}

std::vector<TableShape> table_shapes(const Connection& db) {
  std::vector<TableShape> waiting;
  for (const auto& table : first_column(db,
                                        "SELECT name FROM pragma_table_list WHERE schema = ? AND type = 'table' "
                                        "AND name NOT LIKE 'sqlite_%' ORDER BY name",
                                        "main")) {
    waiting.push_back(shape_of(db, table));
  }
  std::vector<TableShape> out;
  const auto is_placed = [&](const Reference& reference) {
    return std::any_of(out.begin(), out.end(), [&](const TableShape& t) { return t.name == reference.table; });
  };
  while (!waiting.empty()) {
    const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const TableShape& t) {
      return std::all_of(t.references.begin(), t.references.end(), is_placed);
    });
    if (ready == waiting.end()) throw std::logic_error("the table " + waiting[0].name + " refers to itself");
    out.push_back(std::move(*ready));
    waiting.erase(ready);
  }
  return out;
}

}  // namespace perfbench::harness
