#include "harness/cli/report_text.h"

#include <iterator>

#include "reports/build_report.h"
#include "reports/csv.h"
#include "reports/json.h"
#include "reports/markdown.h"

namespace perfbench::harness {
namespace {

// One that has the rows of all.
reports::Report merged(std::vector<reports::Report> all) {
  auto out = std::move(all.front());
  for (std::size_t i = 1; i < all.size(); ++i) {
    out.title += ", " + all[i].title;
    std::move(all[i].rows.begin(), all[i].rows.end(), std::back_inserter(out.rows));
  }
  return out;
}

}  // namespace

std::string report_text(const std::vector<StoredTable>& tables, ReportFormat format, reports::TableStyle style) {
  std::vector<reports::Report> all;
  for (const auto& table : tables) all.push_back(reports::build_report(table));
  switch (format) {
    case ReportFormat::csv:
      return reports::to_csv(merged(std::move(all)), style);
    case ReportFormat::json:
      return reports::to_json(merged(std::move(all)));
    case ReportFormat::markdown:
      break;
  }
  std::string text;
  for (const auto& report : all) {
    text += (text.empty() ? "" : "\n") + std::string(reports::to_markdown(report, style));
  }
  return text;
}

}  // namespace perfbench::harness
