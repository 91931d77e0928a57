#include "reports/content/report_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "harness/matrix/run_keys.h"
#include "reports/content/build_report.h"
#include "reports/content/cells.h"
#include "reports/render/document/render.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"
#include "workloads/spec/fields.h"

namespace perfbench::reports {
namespace {

// The facts that identify a row, by name. A chart goes along one of them; mesh axes and a device's share of the batch
// follow from others.
using Facts = std::map<std::string, std::string>;

Facts chart_facts(const ReportRow& row) {
  Facts out{{"", row.is_published ? "published" : ""},
            {"subject", row.subject},
            {"processor", row.processor},
            {"precision", row.precision},
            {"attention", row.attention},
            {"remat", row.remat},
            {"scan", row.scan ? (*row.scan ? "on" : "off") : ""}};
  for (const auto& [field, value] : row.varied) {
    if (!field.starts_with("model.") && !field.starts_with("mesh.") && field != "global_batch" && field != "seq_len") {
      out[field] = value;
    }
  }
  return out;
}

struct Axis {
  const char* key;
  const char* title;
  double (*value)(const ReportRow&);
  // Values that must be equal, in addition to the facts.
  std::vector<std::pair<const char*, double (*)(const ReportRow&)>> kept;
  enum class Ideal { none, by_devices, constant } ideal = Ideal::none;
};

double devices(const ReportRow& row) {
  return static_cast<double>(row.devices);
}
double batch(const ReportRow& row) {
  return static_cast<double>(row.global_batch);
}
double length(const ReportRow& row) {
  return static_cast<double>(row.seq_len);
}
double size(const ReportRow& row) {
  return static_cast<double>(row.parameters);
}
double per_device(const ReportRow& row) {
  return row.batch_per_device;
}

const std::vector<Axis>& axes() {
  static const std::vector<Axis> kAxes{
      {"devices",
       "devices, the same batch",
       devices,
       {{"batch", batch}, {"sequence", length}},
       Axis::Ideal::by_devices},
      {"devices_per_batch",
       "devices, the same batch on each",
       devices,
       {{"sequences per device", per_device}, {"sequence", length}},
       Axis::Ideal::constant},
      {"batch", "sequences of a step", batch, {{"devices", devices}, {"sequence", length}}},
      {"seq_len", "tokens of a sequence", length, {{"devices", devices}, {"batch", batch}}},
      {"parameters", "parameters of the model", size, {{"devices", devices}, {"sequence", length}}},
  };
  return kAxes;
}

struct Measure {
  const char* key;
  const char* title;
  std::optional<double> (*value)(const ReportRow&);
};

const std::vector<Measure>& measures() {
  static const std::vector<Measure> kMeasures{
      {"step_time", "step time (s)", [](const ReportRow& row) { return row.step_time_s; }},
      {"mfu", "MFU (%)",
       [](const ReportRow& row) { return row.mfu_fraction ? std::optional(*row.mfu_fraction * 100) : std::nullopt; }}};
  return kMeasures;
}

// Groups of rows that differ only along the axis, as far as these facts tell.
std::map<Facts, std::vector<const ReportRow*>> lines_along(const Axis& axis, const std::vector<ReportRow>& rows) {
  std::map<Facts, std::vector<const ReportRow*>> out;
  for (const auto& row : rows) {
    if (!row.step_time_s || axis.value(row) <= 0) continue;
    auto facts = chart_facts(row);
    for (const auto& [name, value] : axis.kept) facts[name] = format_ratio(value(row));
    // Distinguishes models of equal size, unless the chart is about size.
    if (axis.value != size) facts["model"] = row.model;
    out[facts].push_back(&row);
  }
  std::erase_if(out, [&](const auto& line) {
    std::set<double> different;
    for (const auto* row : line.second) different.insert(axis.value(*row));
    return different.size() < 2;
  });
  for (auto& [facts, line] : out) {
    std::stable_sort(line.begin(), line.end(),
                     [&](const auto* a, const auto* b) { return axis.value(*a) < axis.value(*b); });
  }
  return out;
}

// The facts in which it differs from other lines.
std::string name_of(const Facts& facts, const std::map<Facts, std::vector<const ReportRow*>>& lines) {
  std::string out;
  for (const auto& [name, value] : facts) {
    const bool tells = std::any_of(lines.begin(), lines.end(), [&, &fact = name, &mine = value](const auto& other) {
      const auto found = other.first.find(fact);
      return found == other.first.end() || found->second != mine;
    });
    if (!tells || value.empty()) continue;
    if (!out.empty()) out += ", ";
    out += name.empty() ? value : name + " " + value;
  }
  return out;
}

ChartSeries ideal_of(const Axis& axis, const ChartSeries& measured) {
  ChartSeries out{.name = "perfect scaling", .marks = Marks::ideal, .points = {}};
  const auto& first = measured.points.front();
  for (const auto& point : measured.points) {
    const double y = axis.ideal == Axis::Ideal::constant ? first.y : first.y * first.x / point.x;
    out.points.push_back({.x = point.x, .y = y});
  }
  if (!measured.name.empty()) out.name += " of " + measured.name;
  return out;
}

}  // namespace

std::vector<Chart> scaling_charts(const std::vector<ReportRow>& rows) {
  std::vector<Chart> out;
  for (const auto& axis : axes()) {
    const auto lines = lines_along(axis, rows);
    for (const auto& measure : measures()) {
      const bool is_time = measure.key == std::string("step_time");
      Chart chart{
          .key = fmt::format("scaling_{}_by_{}", measure.key, axis.key),
          .title = fmt::format("{} by {}", measure.title, axis.title),
          .x = {.title = axis.title, .scale = Scale::logarithmic},
          .y = {.title = measure.title, .scale = is_time ? Scale::logarithmic : Scale::linear, .from_zero = true},
          .series = {}};
      std::vector<ChartSeries> ideals;
      for (const auto& [facts, line] : lines) {
        ChartSeries series{.name = name_of(facts, lines), .points = {}};
        for (const auto* row : line) {
          const auto value = measure.value(*row);
          if (!value || (is_time && *value <= 0)) continue;  // has no logarithm
          ChartPoint point{.x = axis.value(*row), .y = *value, .label = row->cell};
          if (is_time && row->step_time_min_s && row->step_time_max_s && *row->step_time_min_s > 0) {
            point.low = row->step_time_min_s;
            point.high = row->step_time_max_s;
          }
          series.points.push_back(std::move(point));
        }
        if (series.points.size() < 2) continue;
        if (is_time && axis.ideal != Axis::Ideal::none) ideals.push_back(ideal_of(axis, series));
        chart.series.push_back(std::move(series));
      }
      if (chart.series.empty()) continue;
      std::move(ideals.begin(), ideals.end(), std::back_inserter(chart.series));
      out.push_back(std::move(chart));
    }
  }
  return out;
}

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
    for (const auto* column : {&kRunsColumn, &kSpreadColumn, &kMeanStepColumn}) add(*column);
    if (has_programs) add(kWallTimeColumn);
    add_declared(table, rows, Audience::people);
  }
  if (key == "sequences_per_s") {
    add(kTokensPerDeviceColumn);
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

std::string report_json(const Report& report, const Table& rows) {
  Json out;
  out["title"] = report.title;
  out["mfu_definition"] = spec::enum_name(report.definition);
  out["baseline"] = report.baseline.empty() ? Json() : Json(report.baseline);
  out["rows"] = json_rows(rows);
  return json_text(out, 2);
}

}  // namespace

Document report_document(std::vector<Report> reports, TableStyle style, const RowChoice& choice) {
  Document out;
  const bool has_columns = !choice.columns.empty();
  const bool has_choice = has_columns || !choice.sort.empty() || choice.best > 0;
  auto wholes = has_choice ? whole_tables(reports) : std::vector<Table>();
  Table named{.key = "rows", .columns = {}, .rows = {}};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    auto& report = reports[i];
    if (has_choice) keep_chosen(report, wholes[i], choice);
    out.add(Heading{.level = 2, .text = report.title});
    if (has_columns) {
      auto table = with_columns(wholes[i], choice, Audience::people);
      auto for_programs = with_columns(wholes[i], choice, Audience::programs);
      named.columns = for_programs.columns;
      std::move(for_programs.rows.begin(), for_programs.rows.end(), std::back_inserter(named.rows));
      out.add(std::move(table));
    } else {
      out.add(people_table(report.rows, style));
    }
    for (auto& chart : scaling_charts(report.rows)) out.add(std::move(chart));
    out.add(Note{"MFU by the definition " + std::string(spec::enum_name(report.definition)) + "." +
                 (report.baseline.empty() ? "" : " Baseline: " + report.baseline + ".")});
    if (!report.left_out.empty()) out.add(Note{report.left_out + "."});
  }
  auto all = merged(reports);
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
