#include "harness/trace/summary_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "reports/format/json_text.h"
#include "reports/format/number.h"
#include "workloads/spec/fields_json.h"

namespace perfbench::harness {
namespace {

using Row = std::vector<std::string>;

constexpr std::string_view kUnit = "_ns";

// "exposed_comm_ns" -> "EXPOSED COMM"
std::string heading_of(std::string_view field) {
  std::string out(field.substr(0, field.size() - kUnit.size()));
  for (auto& c : out) c = c == '_' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
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

Row heading() {
  Row row{"RANK", "STEP", "TIME (ms)"};
  for_each_part({}, [&row](std::string_view name, std::int64_t) { row.push_back(heading_of(name)); });
  return row;
}

Row row_of(const TraceSummary& summary) {
  const auto wall = static_cast<double>(summary.wall_ns);
  Row row{std::to_string(summary.rank), std::to_string(summary.step), reports::format_number(wall / 1e6)};
  for_each_part(summary, [&](std::string_view, std::int64_t ns) {
    row.push_back(wall > 0 ? reports::format_percent(static_cast<double>(ns) / wall) : reports::kNothing);
  });
  return row;
}

}  // namespace

std::string summary_table(const std::vector<TraceSummary>& summaries) {
  std::vector<Row> rows{heading()};
  for (const auto& summary : summaries) rows.push_back(row_of(summary));
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) out += fmt::format("{}{:>{}}", i == 0 ? "" : "  ", row[i], widths[i]);
    out += "\n";
  }
  out += "\nParts sum to the step. COLLECTIVE is how long collectives ran, hidden ones too, and is not in the sum.\n";
  std::int64_t dropped = 0;
  std::int64_t rank = -1;
  for (const auto& summary : summaries) {
    if (summary.rank != rank) dropped += summary.dropped_records;
    rank = summary.rank;
  }
  if (dropped > 0) {
    out += fmt::format("{} records found no room: parts are too small and idle time is too large.\n", dropped);
  }
  return out;
}

std::string summary_notes(const std::vector<RankTrace>& traces) {
  const bool singly =
      std::any_of(traces.begin(), traces.end(), [](const auto& trace) { return trace.end.executed_singly; });
  return singly ? "Timed steps replay CUDA graphs, these executed every operation by itself: idle time that the host "
                  "causes is theirs alone.\n"
                : "";
}

std::string summary_csv(const std::vector<TraceSummary>& summaries) {
  std::string out;
  for (const auto& name : spec::field_names<TraceSummary>()) out += (out.empty() ? "" : ",") + name;
  out += "\r\n";
  for (const auto& summary : summaries) {
    std::string line;
    auto write = [&line](const spec::Field&, const std::int64_t& value) {
      line += (line.empty() ? "" : ",") + std::to_string(value);
    };
    TraceSummary::fields(summary, write);
    out += line + "\r\n";
  }
  return out;
}

std::string summary_json(const std::vector<TraceSummary>& summaries) {
  return reports::json_text(spec::Json{{"steps", spec::value_to_json(summaries, spec::Written::whole)}}, 1);
}

}  // namespace perfbench::harness
