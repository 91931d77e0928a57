#include "reports/content/report_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "harness/matrix/matrix.h"
#include "harness/matrix/run_keys.h"
#include "reports/content/build_report.h"
#include "reports/content/cells.h"
#include "reports/content/heat_map.h"
#include "reports/content/report_charts.h"
#include "reports/render/document/render.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"
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

// Fields that decide whether two step times have the same meaning: whether the run is bit-reproducible, and how it
// accumulates sums.
constexpr std::array kAlwaysTold{"deterministic", "fp8_accumulation"};

// The fields in which rows differ that no column of the table distinguishes, and all fields of kAlwaysTold in which
// they differ.
std::set<std::string> told_differences(const std::vector<ReportRow>& rows) {
  std::map<std::string, const ReportRow*> first;  // the first row with the same columns
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

// Rows of a single engine need no column of its name. A fault or a side of a comparison is always shown.
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

// A column for each declared metric that no other column shows.
void add_declared(Table& table, const std::vector<ReportRow>& rows, Audience audience) {
  std::set<std::string> names;
  for (const auto& row : rows) {
    for (const auto& [name, value] : row.declared) names.insert(name);
  }
  for (const auto& shown : {columns(TableStyle::table), detail_columns()}) {
    for (const auto& column : shown) names.erase(column.key);
  }
  for (const auto& name : names) {
    Column column{.title = name, .key = name, .align = Align::right, .audience = audience};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto found = rows[i].declared.find(name);
      const bool is_there = found != rows[i].declared.end();
      if (is_there) column.higher_is_better = found->second.higher_is_better;
      table.rows[i].cells.push_back(is_there ? Cell(format_number(found->second.value), found->second.value)
                                             : Cell(kNothing, Value()));
    }
    table.columns.push_back(std::move(column));
  }
}

Table empty_table(const char* key, const std::vector<ReportRow>& rows) {
  Table table{.key = key, .columns = {}, .rows = {}};
  table.rows.resize(rows.size());
  return table;
}

// A report without a baseline has no differences.
constexpr std::string_view kDifferenceKey = "baseline_difference_fraction";

// Whether the column is empty in every row.
bool is_unsaid(const ReportColumn& column, const std::vector<ReportRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [&](const ReportRow& row) { return column.cell(row).text == kNothing; });
}

// The columns that follow one of the reference systems' in our own style.
void add_extras(Table& table, const std::vector<ReportRow>& rows, const std::string& key, bool has_programs) {
  const auto add = [&](const ReportColumn& column) {
    if (!has_programs || !is_unsaid(column, rows)) add_column(table, rows, column, Audience::people);
  };
  if (key == "step_time_s") {
    for (const auto* column : {&kRunsColumn, &kSpreadColumn}) add(*column);
    if (has_programs) add(kWallTimeColumn);
    add_declared(table, rows, Audience::people);
    add(kTokensPerDeviceColumn);
    for (const auto* column : {&kEnergyColumn, &kCostColumn}) {
      if (!is_unsaid(*column, rows)) add_column(table, rows, *column, Audience::people);
    }
  }
  if (key == kDifferenceKey) add(kMeanStepColumn);
  if (key == "sequences_per_s") {
    const bool has_days = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.total_sequences; });
    if (has_days) add(kEstimatedDaysColumn);
  }
  if (key == "mfu_fraction") add(kMemoryColumn);
}

Table people_table(const std::vector<ReportRow>& rows, TableStyle style) {
  auto table = empty_table("table", rows);
  const bool has_programs = std::any_of(rows.begin(), rows.end(), [](const ReportRow& row) { return row.is_program; });
  if (has_programs) add_column(table, rows, kCellColumn, Audience::people);
  for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].notes = rows[i].notes;
  const bool extended = style == TableStyle::table;
  bool is_told = !tells_subjects(rows);
  for (const auto& column : columns(style)) {
    const std::string key = column.key;
    if (!is_told && column.of == ColumnOf::result) {
      add_column(table, rows, kSubjectColumn, Audience::people);
      is_told = true;
    }
    if (extended && key == "step_time_s") {
      for (const auto& field : told_differences(rows)) {
        if (!has_programs || field != kCellColumn.key) add_field(table, rows, field, Audience::people);
      }
    }
    const bool may_be_absent = has_programs || (extended && key == kDifferenceKey);
    if (!may_be_absent || !is_unsaid(column, rows)) {
      add_column(table, rows, column, Audience::people);
      // Tables of other systems keep all their columns.
      table.columns.back().is_setting = extended && column.of == ColumnOf::configuration;
    }
    if (extended) add_extras(table, rows, key, has_programs);
  }
  if (extended) show_seconds_in_units(table);
  table.columns.push_back({.title = "Run", .key = "run_id", .audience = Audience::pages});
  for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].cells.push_back(id_cell(rows[i].run_id));
  return table;
}

bool has_key(const Table& table, const std::string& key) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](const Column& column) { return column.key == key; });
}

Table programs_table(const std::vector<ReportRow>& rows, TableStyle style) {
  auto table = empty_table("rows", rows);
  for (const auto& column : columns(style)) add_column(table, rows, column, Audience::programs);
  if (style != TableStyle::table) {
    if (tells_subjects(rows)) add_column(table, rows, kSubjectColumn, Audience::programs);
    return table;
  }
  for (const auto& column : detail_columns()) add_column(table, rows, column, Audience::programs);
  add_declared(table, rows, Audience::programs);
  for (const auto& field : told_differences(rows)) {
    if (!has_key(table, field)) add_field(table, rows, field, Audience::programs);
  }
  return table;
}

// Every column that a user can name.
Table whole_table(const std::vector<ReportRow>& rows) {
  auto table = programs_table(rows, TableStyle::table);
  add_column(table, rows, kModelColumn, Audience::programs);
  add_column(table, rows, kMemoryColumn, Audience::programs);
  for (std::size_t i = 0; i < rows.size(); ++i) table.rows[i].notes = rows[i].notes;
  return table;
}

// A report with the rows of all.
Report merged(const std::vector<Report>& all) {
  auto out = all.front();
  for (std::size_t i = 1; i < all.size(); ++i) {
    out.title += ", " + all[i].title;
    out.rows.insert(out.rows.end(), all[i].rows.begin(), all[i].rows.end());
  }
  return out;
}

// Whole tables of several reports have the same columns, even those that one of them lacks.
std::vector<Table> whole_tables(const std::vector<Report>& reports) {
  auto all = whole_table(merged(reports).rows);
  std::vector<Table> out;
  auto next = all.rows.begin();
  for (const auto& report : reports) {
    const auto end = next + static_cast<std::ptrdiff_t>(report.rows.size());
    out.push_back({.key = "table", .columns = all.columns, .rows = {next, end}});
    next = end;
  }
  return out;
}

// Keeps the rows that the user asks for, in both. A published row stays beside those that are compared with it.
void keep_chosen(Report& report, Table& whole, const RowChoice& choice) {
  auto rows = chosen_rows(whole, choice);
  if (rows.size() < report.rows.size()) {
    report.left_out +=
        fmt::format("{}{} of {} rows are shown", report.left_out.empty() ? "" : ". ", rows.size(), report.rows.size());
  }
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const bool is_left_out = std::find(rows.begin(), rows.end(), i) == rows.end();
    if (report.rows[i].is_published && is_left_out) rows.push_back(i);
  }
  std::vector<ReportRow> kept;
  std::vector<Row> kept_whole;
  for (const auto i : rows) {
    kept.push_back(std::move(report.rows[i]));
    kept_whole.push_back(std::move(whole.rows[i]));
  }
  report.rows = std::move(kept);
  whole.rows = std::move(kept_whole);
}

// The text that all measured rows share; empty if they differ.
std::string shared_by(const std::vector<ReportRow>& rows, std::string ReportRow::*member) {
  std::set<std::string> texts;
  for (const auto& row : rows) {
    if (!row.is_published) texts.insert(row.*member);
  }
  return texts.size() == 1 ? *texts.begin() : "";
}

void add_report_origin(Document& out, const Report& report) {
  std::string newest;
  for (const auto& row : report.rows) newest = std::max(newest, row.started_utc);
  out.add_origin("Date", newest);
  out.add_origin("Machine", shared_by(report.rows, &ReportRow::processor));
  out.add_origin("Commit", first_digits(shared_by(report.rows, &ReportRow::commit)));
  out.add_origin("Sweep", shared_by(report.rows, &ReportRow::sweep_id));
  out.add_origin("Compared with", report.baseline);
}

// The row with the largest value among the measured ones, of which a noisy one counts only if all are. nullptr if none
// has a value.
template <class Value>
const ReportRow* largest_row(const std::vector<ReportRow>& rows, const Value& value) {
  const ReportRow* out = nullptr;
  for (const auto& row : rows) {
    if (row.is_published || !value(row)) continue;
    const auto rank = [&value](const ReportRow& one) { return std::pair(!one.is_noisy, *value(one)); };
    if (out == nullptr || rank(row) > rank(*out)) out = &row;
  }
  return out;
}

// Each device of a row has this price.
void set_costs(std::vector<Report>& reports, double device_hour_price) {
  constexpr double kSecondsOfAnHour = 3600;
  constexpr double kTokens = 1e6;
  for (auto& report : reports) {
    for (auto& row : report.rows) {
      const auto rate = tokens_per_s_per_device(row);
      if (rate) row.cost_per_million_tokens = device_hour_price / kSecondsOfAnHour / *rate * kTokens;
    }
  }
}

// A price without a column of costs would be ignored.
RowChoice with_cost_column(RowChoice choice) {
  const std::string cost = kCostColumn.key;
  const bool is_named = std::find(choice.columns.begin(), choice.columns.end(), cost) != choice.columns.end();
  if (choice.device_hour_price > 0 && !choice.columns.empty() && !is_named) choice.columns.push_back(cost);
  return choice;
}

// Cells of a report, and how many of them have a result.
struct CellCounts {
  std::size_t all = 0;
  std::size_t finished = 0;

  Tone tone() const { return finished == all ? Tone::good : Tone::doubtful; }
};

CellCounts count_cells(const std::vector<ReportRow>& rows) {
  CellCounts out;
  for (const auto& row : rows) {
    if (row.is_published) continue;
    ++out.all;
    if (row.runs > 0) ++out.finished;
  }
  return out;
}

// "12 of 12 cells measured; most tokens/s/device: 24k, 44.7 % MFU, model=gpt-mini remat=none"
Headline report_headline(const Report& report) {
  const auto cells = count_cells(report.rows);
  auto tone = cells.tone();
  auto text = fmt::format("{} of {} {} measured", cells.finished, cells.all, cells.all == 1 ? "cell" : "cells");
  if (const auto* row = largest_row(report.rows, tokens_per_s_per_device)) {
    text += fmt::format("; {}: {}", cells.finished == 1 ? "tokens/s/device" : "most tokens/s/device",
                        human_count(*tokens_per_s_per_device(*row)));
    if (row->mfu_fraction) text += fmt::format(", {} MFU", format_percent(*row->mfu_fraction));
    if (cells.finished > 1) text += ", " + harness::shown_label(row->cell);
    if (row->is_noisy) {
      text += "; the machine's speed moved during every run, so that this value is not reliable";
      tone = Tone::doubtful;
    }
  }
  return {.text = text, .tone = tone};
}

Cards cards_of(const Report& report) {
  Cards out;
  const auto cells = count_cells(report.rows);
  out.cards.push_back({.title = "cells",
                       .value = fmt::format("{} of {}", cells.finished, cells.all),
                       .detail = cells.finished == cells.all ? "all finished" : "finished",
                       .tone = cells.tone()});
  if (const auto* row = largest_row(report.rows, tokens_per_s_per_device)) {
    out.cards.push_back({.title = "most tokens/s/device",
                         .value = human_count(*tokens_per_s_per_device(*row)),
                         .detail = harness::shown_label(row->cell)});
  }
  if (const auto* row = largest_row(report.rows, [](const ReportRow& one) { return one.mfu_fraction; })) {
    out.cards.push_back({.title = "highest MFU",
                         .value = format_percent(*row->mfu_fraction),
                         .detail = harness::shown_label(row->cell)});
  }
  return out;
}

std::string report_json(const Report& report, const Table& rows) {
  Json out;
  out["title"] = report.title;
  out["mfu_definition"] = spec::enum_name(report.definition);
  out["baseline"] = report.baseline.empty() ? Json() : Json(report.baseline);
  out["rows"] = json_rows(rows);
  return json_text(out, 2);
}

}  // namespace

Document report_document(std::vector<Report> reports, TableStyle style, const RowChoice& asked) {
  Document out;
  const auto choice = with_cost_column(asked);
  const bool has_columns = !choice.columns.empty();
  const bool has_choice = has_columns || !choice.sort.empty() || choice.best > 0;
  if (choice.device_hour_price > 0) set_costs(reports, choice.device_hour_price);
  if (!choice.heat_map.empty()) check_heat_map_axes(merged(reports).rows, choice.heat_map);
  auto wholes = has_choice ? whole_tables(reports) : std::vector<Table>();
  Table named{.key = "rows", .columns = {}, .rows = {}};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    auto& report = reports[i];
    out.add(Heading{.level = 2, .text = report.title});
    if (i == 0) add_report_origin(out, report);
    out.add(report_headline(report));                     // of all its rows
    out.add(cards_of(report));                            // likewise
    auto maps = heat_maps(report.rows, choice.heat_map);  // likewise
    if (has_choice) keep_chosen(report, wholes[i], choice);
    if (has_columns) {
      auto table = with_columns(wholes[i], choice, Audience::people);
      show_seconds_in_units(table);
      auto for_programs = with_columns(wholes[i], choice, Audience::programs);
      named.columns = for_programs.columns;
      std::move(for_programs.rows.begin(), for_programs.rows.end(), std::back_inserter(named.rows));
      out.add(std::move(table));
    } else {
      out.add(people_table(report.rows, style));
    }
    for (auto& chart : memory_charts(report.rows)) out.add(std::move(chart));
    for (auto& chart : maps.charts) out.add(std::move(chart));
    if (!choice.heat_map.empty() && maps.charts.empty()) out.add(Note{"No heat map: " + maps.why_not + "."});
    for (auto& chart : scaling_charts(report.rows)) out.add(std::move(chart));
    out.add(Note{"MFU by the definition " + std::string(spec::enum_name(report.definition)) + "." +
                 (report.baseline.empty() ? "" : " Baseline: " + report.baseline + ".")});
    if (!report.left_out.empty()) out.add(Note{report.left_out + "."});
  }
  auto all = merged(reports);
  const bool has_cost =
      std::any_of(all.rows.begin(), all.rows.end(), [](const auto& row) { return row.cost_per_million_tokens; });
  if (choice.device_hour_price > 0 && !has_cost) {
    out.add(Note{"No row has a rate of tokens, so --price gives no cost."});
  }
  out.add(has_columns ? named : programs_table(all.rows, style));
  out.json = [all = std::move(all), named, has_columns] {
    return report_json(all, has_columns ? named : programs_table(all.rows, TableStyle::table));
  };
  return out;
}

Document report_document(const std::vector<harness::StoredTable>& tables, TableStyle style, const RowChoice& choice) {
  std::vector<Report> reports;
  for (const auto& table : tables) reports.push_back(build_report(table));
  return report_document(std::move(reports), style, choice);
}

}  // namespace perfbench::reports
