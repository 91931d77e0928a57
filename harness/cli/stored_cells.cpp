#include "harness/cli/stored_cells.h"

#include <fmt/format.h>

#include <iterator>
#include <set>

#include "harness/compare/against.h"
#include "harness/history/session_levels.h"
#include "harness/input_error.h"
#include "harness/matrix/match.h"
#include "harness/run/utc.h"
#include "reports/build_report.h"
#include "reports/csv.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {

namespace {

[[noreturn]] void no_cells(const Connection& db, const std::string& selection) {
  if (!db.left_out().empty()) {
    throw InputError(*db.left_out().begin() + "; nothing else is in '" + selection + "'");
  }
  throw InputError("[store] " + db.path().string() + " holds no run; fill it with `perfbench sweep` or " +
                   "`perfbench ingest`");
}

}  // namespace

std::vector<CellRuns> stored_cells(const Connection& db, const std::string& selection) {
  auto cells = group_by_run(load_attempts(db, parse_selection(selection)));
  if (cells.empty()) no_cells(db, selection);
  return cells;
}

HardwareByName hardware_of(const std::vector<CellRuns>& cells, const CommandContext& context) {
  HardwareByName out;
  for (const auto& cell : cells) {
    const auto name = hardware_name(cell.run(), cell.environment());
    if (name == "host" || out.contains(name)) continue;
    try {
      out[name] = ModelCatalog(context.data_dir()).hardware(name);
    } catch (const spec::SpecError&) {
      // An old database may name hardware whose file is gone: its rows are shown without MFU.
    }
  }
  return out;
}

namespace {

// Newest first, each once.
std::vector<Selection> selections_of(const Connection& db, const ReportOptions& options) {
  if (options.matrices.empty()) return {parse_selection(options.selection)};
  const auto newest = newest_sweeps(db);
  if (newest.empty()) no_cells(db, options.matrices.front());
  std::vector<std::string> names;
  std::vector<Selection> out;
  std::set<std::string> unknown(options.matrices.begin(), options.matrices.end());
  for (const auto& [matrix, sweep_id] : newest) {
    names.push_back(matrix);
    bool wanted = false;
    for (const auto& pattern : options.matrices) {
      if (!glob_matches(pattern, matrix)) continue;
      unknown.erase(pattern);
      wanted = true;
    }
    if (wanted) out.push_back({.kind = SelectionKind::sweep, .id = sweep_id});
  }
  if (unknown.empty()) return out;
  throw InputError(fmt::format("[report] --matrix '{}': {} has no sweep of it{}; it has sweeps of: {}",
                               *unknown.begin(), db.path().string(), spec::suggestion(*unknown.begin(), names),
                               fmt::join(names, ", ")));
}

reports::Report report_of(const Connection& db, std::vector<CellRuns> cells, const ReportOptions& options,
                          const CommandContext& context) {
  if (!options.baseline.empty()) cells = split_by_machine(cells);
  reports::ReportRequest request{.title = cells.front().matrix,
                                 .definition = options.definition,
                                 .baseline = options.baseline,
                                 .comparisons = {},
                                 .hardware = hardware_of(cells, context)};
  if (request.title.empty()) request.title = "runs";
  if (!options.baseline.empty()) {
    AgainstRequest against{.baseline = options.baseline, .definition = options.definition, .now_utc = utc_now()};
    against.sessions = load_known_sessions(db, cells, against.metrics);
    request.comparisons = compare_against(db, PublishedCatalog(context.data_dir()), cells, request.hardware, against);
  }
  return reports::build_report(cells, request);
}

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

std::string report_text(const Connection& db, const ReportOptions& options, const CommandContext& context) {
  std::vector<reports::Report> all;
  for (const auto& selection : selections_of(db, options)) {
    auto cells = group_by_run(load_attempts(db, selection));
    if (!cells.empty()) all.push_back(report_of(db, std::move(cells), options, context));
  }
  if (all.empty()) no_cells(db, options.matrices.empty() ? options.selection : options.matrices.front());
  switch (options.format) {
    case ReportFormat::csv:
      return reports::to_csv(merged(std::move(all)), options.style);
    case ReportFormat::json:
      return reports::to_json(merged(std::move(all)));
    case ReportFormat::markdown:
      break;
  }
  std::string text;
  for (const auto& report : all)
    text += (text.empty() ? "" : "\n") + std::string(reports::to_markdown(report, options.style));
  return text;
}

}  // namespace perfbench::harness
