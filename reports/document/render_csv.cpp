#include <fmt/core.h>

#include <string>

#include "reports/document/render.h"
#include "reports/format/csv_field.h"

namespace perfbench::reports {
namespace {

struct CsvValue {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }  // shortest that reads back equal
  std::string operator()(const std::string& value) const { return csv_field(value); }
  std::string operator()(const std::vector<std::string>& values) const {
    std::string joined;
    for (const auto& value : values) joined += (joined.empty() ? "" : "; ") + value;
    return csv_field(joined);
  }
};

std::string csv_of(const Table& table) {
  std::string out;
  for (const auto& column : table.columns) out += (out.empty() ? "" : ",") + csv_field(column.key);
  out += "\r\n";
  for (const auto& row : table.rows) {
    std::string line;
    for (const auto& cell : row.cells) line += std::visit(CsvValue{}, cell.value) + ",";
    if (!line.empty()) line.pop_back();
    out += line + "\r\n";
  }
  return out;
}

}  // namespace

std::string render_csv(const Document& document) {
  std::string out;
  for (const auto& block : document.blocks) {
    if (const auto* table = std::get_if<Table>(&block)) out += (out.empty() ? "" : "\r\n") + csv_of(*table);
  }
  return out;
}

}  // namespace perfbench::reports
