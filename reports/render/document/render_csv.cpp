#include <fmt/core.h>

#include <string>

#include "reports/render/document/document.h"
#include "reports/render/document/render.h"
#include "reports/render/format/escape.h"

namespace perfbench::reports {
namespace {

struct CsvValue {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    return fmt::format("{}", value);
  }  // the shortest text that reads back as the same number
  std::string operator()(const std::string& value) const { return csv_field(value); }
  std::string operator()(const std::vector<std::string>& values) const {
    std::string joined;
    for (const auto& value : values) joined += (joined.empty() ? "" : "; ") + value;
    return csv_field(joined);
  }
};

std::string csv_of(const Table& table, const std::vector<std::size_t>& columns) {
  std::string out;
  for (const auto i : columns) out += (out.empty() ? "" : ",") + csv_field(table.columns[i].key);
  out += "\r\n";
  for (const auto& row : table.rows) {
    std::string line;
    for (const auto i : columns) line += std::visit(CsvValue{}, row.cells[i].value) + ",";
    line.pop_back();
    out += line + "\r\n";
  }
  return out;
}

}  // namespace

std::string render_csv(const Document& document) {
  std::string out;
  for (const auto& block : document.blocks) {
    const auto* table = std::get_if<Table>(&block);
    if (table == nullptr) continue;
    const auto columns = columns_for(*table, Audience::programs);
    if (!columns.empty()) out += (out.empty() ? "" : "\r\n") + csv_of(*table, columns);
  }
  return out;
}

}  // namespace perfbench::reports
