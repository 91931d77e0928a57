#include <nlohmann/json.hpp>
#include <string>

#include "reports/render/document/document.h"
#include "reports/render/document/render.h"
#include "reports/render/format/escape.h"

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

}  // namespace

Json json_rows(const Table& table) {
  const auto columns = columns_for(table, Audience::programs);
  auto rows = Json::array();
  for (const auto& row : table.rows) {
    Json entry = Json::object();
    for (const auto i : columns) entry[table.columns[i].key] = std::visit(JsonValue{}, row.cells[i].value);
    rows.push_back(std::move(entry));
  }
  return rows;
}

std::string render_json(const Document& document) {
  if (document.json) return document.json();
  Json out = Json::object();
  for (const auto& block : document.blocks) {
    const auto* table = std::get_if<Table>(&block);
    if (table != nullptr && !columns_for(*table, Audience::programs).empty()) out[table->key] = json_rows(*table);
  }
  return json_text(out, 2);
}

}  // namespace perfbench::reports
