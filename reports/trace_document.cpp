#include "reports/trace_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "harness/trace/trace_summary.h"
#include "reports/format/number.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::reports {
namespace {

using harness::RankTrace;
using harness::TraceSummary;

constexpr std::string_view kUnit = "_ns";

// "exposed_comm_ns" -> "Exposed comm"
std::string title_of(std::string_view field) {
  std::string out(field.substr(0, field.size() - kUnit.size()));
  std::replace(out.begin(), out.end(), '_', ' ');
  out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
  return out;
}

// Visits what is a part of the step, and the collectives' total.
template <class F>
void for_each_part(const TraceSummary& summary, const F& visit) {
  auto step = [&visit](const spec::Field& field, const std::int64_t& value) {
    if (field.name.ends_with(kUnit) && field.name != "wall_ns") visit(field.name, value);
  };
  TraceSummary::fields(summary, step);
}

Table table_for_people(const std::vector<TraceSummary>& summaries) {
  constexpr double kNsPerMs = 1e6;
  Table table{.key = "steps", .columns = {}, .rows = {}};
  const auto add = [&table](const std::string& title) {
    table.columns.push_back({.title = title, .key = title, .align = Align::right, .audience = Audience::people});
  };
  for (const auto* title : {"Rank", "Step", "Time (ms)"}) add(title);
  for_each_part({}, [&add](std::string_view name, std::int64_t) { add(title_of(name)); });
  for (const auto& summary : summaries) {
    const auto wall = static_cast<double>(summary.wall_ns);
    Row row{.cells = {std::to_string(summary.rank), std::to_string(summary.step), format_number(wall / kNsPerMs)}};
    for_each_part(summary, [&](std::string_view, std::int64_t ns) {
      row.cells.emplace_back(wall > 0 ? format_percent(static_cast<double>(ns) / wall) : kNothing);
    });
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table table_for_programs(const std::vector<TraceSummary>& summaries) {
  Table table{.key = "steps", .columns = {}, .rows = {}};
  for (const auto& name : spec::field_names<TraceSummary>()) {
    table.columns.push_back({.title = name, .key = name, .audience = Audience::programs});
  }
  for (const auto& summary : summaries) {
    Row row;
    auto add = [&row](const spec::Field&, const std::int64_t& value) { row.cells.emplace_back("", Value(value)); };
    TraceSummary::fields(summary, add);
    table.rows.push_back(std::move(row));
  }
  return table;
}

// A trace says with every step how many records its rank dropped.
std::int64_t dropped_records(const std::vector<TraceSummary>& summaries) {
  std::int64_t dropped = 0;
  std::int64_t rank = -1;
  for (const auto& summary : summaries) {
    if (summary.rank != rank) dropped += summary.dropped_records;
    rank = summary.rank;
  }
  return dropped;
}

}  // namespace

Document trace_document(const std::vector<RankTrace>& traces) {
  const auto summaries = harness::summarise(traces);
  Document out;
  out.add(table_for_people(summaries));
  out.add(table_for_programs(summaries));
  out.add(
      Note{"Parts sum to the step. Collective is how long collectives ran, hidden ones too, and is not in the sum."});
  if (const auto dropped = dropped_records(summaries); dropped > 0) {
    out.add(Note{fmt::format("{} records found no room: parts are too small and idle time is too large.", dropped)});
  }
  const bool singly =
      std::any_of(traces.begin(), traces.end(), [](const auto& trace) { return trace.end.executed_singly; });
  if (singly) {
    out.add(
        Note{"Timed steps replay CUDA graphs, these executed every operation by itself: idle time that the host "
             "causes is theirs alone."});
  }
  return out;
}

}  // namespace perfbench::reports
