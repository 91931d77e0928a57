// The tables of stored runs as text: what report and sweep print.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "harness/app/stored_tables.h"
#include "reports/columns.h"

namespace perfbench::harness {

enum class ReportFormat { markdown, csv, json };

// Markdown with a table for each, CSV and JSON with the rows of all. `tables` is not empty.
std::string report_text(const std::vector<StoredTable>& tables, ReportFormat format = ReportFormat::markdown,
                        reports::TableStyle style = reports::TableStyle::table);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::ReportFormat> {
  using F = perfbench::harness::ReportFormat;
  static constexpr std::array kNames{std::pair{F::markdown, "markdown"}, std::pair{F::csv, "csv"},
                                     std::pair{F::json, "json"}};
};
