#include "reports/csv.h"

#include <fmt/core.h>

#include <vector>

#include "reports/format/csv_field.h"

namespace perfbench::reports {
namespace {

struct CellText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }  // shortest that reads back equal
  std::string operator()(const std::string& value) const { return csv_field(value); }
  std::string operator()(const std::vector<std::string>& values) const {
    std::string joined;
    for (const auto& v : values) joined += (joined.empty() ? "" : "; ") + v;
    return csv_field(joined);
  }
};

std::vector<Column> all_columns(TableStyle style) {
  std::vector<Column> out(columns(style).begin(), columns(style).end());
  if (style == TableStyle::table) out.insert(out.end(), detail_columns().begin(), detail_columns().end());
  return out;
}

}  // namespace

std::string to_csv(const Report& report, TableStyle style) {
  const auto all = all_columns(style);
  std::string out;
  for (const auto& column : all) out += (out.empty() ? "" : ",") + std::string(column.key);
  out += "\r\n";
  for (const auto& row : report.rows) {
    std::string line;
    for (const auto& column : all) line += std::visit(CellText{}, column.value(row)) + ",";
    line.back() = '\r';
    out += line + "\n";
  }
  return out;
}

}  // namespace perfbench::reports
