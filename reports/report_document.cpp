#include "reports/report_document.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "harness/matrix/run_keys.h"
#include "reports/build_report.h"
#include "reports/document/json_rows.h"
#include "reports/format/json_text.h"
#include "reports/format/number.h"
#include "reports/id_cell.h"
#include "reports/scaling_charts.h"
#include "workloads/spec/fields.h"

namespace perfbench::reports {
namespace {

using Json = nlohmann::ordered_json;

std::string configuration_of(const ReportRow& row) {
  std::string out;
  for (const auto& column : columns(TableStyle::table)) {
    if (column.of == ColumnOf::configuration) out += column.cell(row).text + "\n";
  }
  return out;
}

// Fields that decide whether two step times mean the same: whether the run's bits repeat, and how its sums are kept.
constexpr std::array kAlwaysTold{"deterministic", "fp8_accumulation"};

// The fields in which rows differ that no column of the table tells apart, and of kAlwaysTold all in which they differ.
std::set<std::string> told_differences(const std::vector<ReportRow>& rows) {
  std::map<std::string, const ReportRow*> first;  // by what the columns say
  std::set<std::string> out;
  for (const auto* field : kAlwaysTold) {
    if (std::ranges::any_of(rows, [field](const ReportRow& row) { return row.varied.contains(field); })) {
      out.insert(field);
    }
  }
  for (const auto& row : rows) {
    const auto* alike = first.emplace(configuration_of(row), &row).first->second;
    for (const auto& [field, value] : row.varied) {
      const auto found = alike->varied.find(field);
      if (found == alike->varied.end() || found->second != value) out.insert(field);
    }
  }
  return out;
}

// Rows of one engine alone need no column that says so. A fault or a side of a comparison is always told.
bool tells_subjects(const std::vector<ReportRow>& rows) {
  std::set<std::string> names;
  for (const auto& row : rows) {
    if (!row.inject.empty() || !row.side.empty()) return true;
    if (!row.is_published) names.insert(row.subject);
  }
  return names.size() > 1;
}

void add_column(Table& table, const std::vector<ReportRow>& rows, const ReportColumn& column, Audience audience) {
  table.columns.push_back({.title = column.title, .key = column.key, .align = column.align, .audience = audience});
  for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].cells.push_back(column.cell(rows[i]));
}

void add_field(Table& table, const std::vector<ReportRow>& rows, const std::string& field, Audience audience) {
  table.columns.push_back({.title = harness::short_name(field), .key = field, .audience = audience});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = rows[i].varied.find(field);
    table.rows[i].cells.push_back(found == rows[i].varied.end() || found->second.empty() ? Cell(kNothing, Value())
                                                                                         : Cell(found->second));
  }
}

Table empty_table(const char* key, const std::vector<ReportRow>& rows) {
  Table table{.key = key, .columns = {}, .rows = {}};
  table.rows.resize(rows.size());
  return table;
}

Table people_table(const std::vector<ReportRow>& rows, TableStyle style) {
  auto table = empty_table("table", rows);
  for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].notes = rows[i].notes;
  const bool extended = style == TableStyle::table;
  const bool has_days =
      std::any_of(rows.begin(), rows.end(), [](const ReportRow& row) { return row.total_sequences.has_value(); });
  bool is_told = !tells_subjects(rows);
  for (const auto& column : columns(style)) {
    const std::string key = column.key;
    if (!is_told && column.of == ColumnOf::result) {
      add_column(table, rows, kSubjectColumn, Audience::people);
      is_told = true;
    }
    if (extended && key == "step_time_s") {
      for (const auto& field : told_differences(rows)) add_field(table, rows, field, Audience::people);
    }
    add_column(table, rows, column, Audience::people);
    if (!extended) continue;
    if (key == "step_time_s") {
      add_column(table, rows, kRunsColumn, Audience::people);
      add_column(table, rows, kSpreadColumn, Audience::people);
      add_column(table, rows, kMeanStepColumn, Audience::people);
    }
    if (key == "sequences_per_s" && has_days) add_column(table, rows, kEstimatedDaysColumn, Audience::people);
  }
  table.columns.push_back({.title = "Run", .key = "run_id", .audience = Audience::pages});
  for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].cells.push_back(id_cell(rows[i].run_id));
  return table;
}

Table programs_table(const std::vector<ReportRow>& rows, TableStyle style) {
  auto table = empty_table("rows", rows);
  for (const auto& column : columns(style)) add_column(table, rows, column, Audience::programs);
  if (style != TableStyle::table) {
    if (tells_subjects(rows)) add_column(table, rows, kSubjectColumn, Audience::programs);
    return table;
  }
  for (const auto& column : detail_columns()) add_column(table, rows, column, Audience::programs);
  for (const auto& field : told_differences(rows)) add_field(table, rows, field, Audience::programs);
  return table;
}

// One that has the rows of all.
Report merged(const std::vector<Report>& all) {
  auto out = all.front();
  for (std::size_t i = 1; i < all.size(); ++i) {
    out.title += ", " + all[i].title;
    out.rows.insert(out.rows.end(), all[i].rows.begin(), all[i].rows.end());
  }
  return out;
}

std::string report_json(const Report& report) {
  Json out;
  out["title"] = report.title;
  out["mfu_definition"] = spec::enum_name(report.definition);
  out["baseline"] = report.baseline.empty() ? Json() : Json(report.baseline);
  out["rows"] = json_rows(programs_table(report.rows, TableStyle::table));
  return json_text(out, 2);
}

}  // namespace

Document report_document(const std::vector<Report>& reports, TableStyle style) {
  Document out;
  for (const auto& report : reports) {
    out.add(Heading{.level = 2, .text = report.title});
    out.add(people_table(report.rows, style));
    for (auto& chart : scaling_charts(report.rows)) out.add(std::move(chart));
    out.add(Note{"MFU by the definition " + std::string(spec::enum_name(report.definition)) + "." +
                 (report.baseline.empty() ? "" : " Baseline: " + report.baseline + ".")});
    if (!report.left_out.empty()) out.add(Note{report.left_out + "."});
  }
  auto all = merged(reports);
  out.add(programs_table(all.rows, style));
  out.json = [all = std::move(all)] { return report_json(all); };
  return out;
}

Document report_document(const std::vector<harness::StoredTable>& tables, TableStyle style) {
  std::vector<Report> reports;
  for (const auto& table : tables) reports.push_back(build_report(table));
  return report_document(reports, style);
}

}  // namespace perfbench::reports
