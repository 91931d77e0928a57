#include <nlohmann/json.hpp>
#include <string>

#include "reports/document/audience.h"
#include "reports/document/render.h"
#include "reports/format/json_text.h"

namespace perfbench::reports {
namespace {

using Json = nlohmann::ordered_json;

struct JsonValue {
  Json operator()(std::monostate) const { return nullptr; }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

Json rows_of(const Table& table, const std::vector<std::size_t>& columns) {
  auto rows = Json::array();
  for (const auto& row : table.rows) {
    Json entry = Json::object();
    for (const auto i : columns) entry[table.columns[i].key] = std::visit(JsonValue{}, row.cells[i].value);
    rows.push_back(std::move(entry));
  }
  return rows;
}

}  // namespace

std::string render_json(const Document& document) {
  if (!document.json.empty()) return document.json;
  Json out = Json::object();
  for (const auto& block : document.blocks) {
    const auto* table = std::get_if<Table>(&block);
    if (table == nullptr) continue;
    const auto columns = columns_for(*table, Audience::programs);
    if (!columns.empty()) out[table->key] = rows_of(*table, columns);
  }
  return json_text(out, 2);
}

}  // namespace perfbench::reports
