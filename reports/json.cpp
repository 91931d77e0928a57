#include "reports/json.h"

#include <nlohmann/json.hpp>

#include "reports/columns.h"
#include "reports/format/json_text.h"
#include "workloads/spec/fields.h"

namespace perfbench::reports {
namespace {

using Json = nlohmann::ordered_json;

struct CellJson {
  Json operator()(std::monostate) const { return nullptr; }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

}  // namespace

std::string to_json(const Report& report) {
  Json out;
  out["title"] = report.title;
  out["mfu_definition"] = spec::enum_name(report.definition);
  out["baseline"] = report.baseline.empty() ? Json() : Json(report.baseline);
  out["rows"] = Json::array();
  for (const auto& row : report.rows) {
    Json entry;
    for (const auto& group : {columns(TableStyle::table), detail_columns()}) {
      for (const auto& column : group) entry[column.key] = std::visit(CellJson{}, column.value(row));
    }
    out["rows"].push_back(std::move(entry));
  }
  return json_text(out, 2);
}

}  // namespace perfbench::reports
