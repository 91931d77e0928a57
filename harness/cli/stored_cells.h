// Runs of a database with the data files that explain them: what report, compare and sweep share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/compare/cell_runs.h"
#include "harness/compare/device_peak.h"
#include "reports/columns.h"

namespace perfbench::harness {

enum class ReportFormat { markdown, csv, json };

struct ReportOptions {
  std::filesystem::path db = "perf.db";
  ReportFormat format = ReportFormat::markdown;
  std::string selection = "latest";        // parse_selection of store/query.h
  std::vector<std::string> matrices = {};  // in place of that the newest sweep of each of these, * globs
  reports::TableStyle style = reports::TableStyle::table;
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
  std::string baseline;  // empty: no comparison
};

// The report as text: Markdown with a table for each sweep, CSV and JSON with the rows of all. Throws InputError when
// the selection holds no attempt, or the database no sweep of a matrix.
std::string report_text(const Connection& db, const ReportOptions& options, const CommandContext& context);

// The cells of a selection; throws InputError when there is none.
std::vector<CellRuns> stored_cells(const Connection& db, const std::string& selection);

// The data files of the hardware that the cells name. Hardware that perfbench no longer knows is left out.
HardwareByName hardware_of(const std::vector<CellRuns>& cells, const CommandContext& context);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::ReportFormat> {
  using F = perfbench::harness::ReportFormat;
  static constexpr std::array kNames{std::pair{F::markdown, "markdown"}, std::pair{F::csv, "csv"},
                                     std::pair{F::json, "json"}};
};
