#include "harness/cli/stored_cells.h"

#include "harness/compare/against.h"
#include "harness/history/session_levels.h"
#include "harness/input_error.h"
#include "harness/run/utc.h"
#include "reports/build_report.h"
#include "reports/csv.h"
#include "reports/json.h"
#include "reports/markdown.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

std::vector<CellRuns> stored_cells(const Connection& db, const std::string& selection) {
  auto cells = group_by_run(load_attempts(db, parse_selection(selection)));
  if (cells.empty() && !db.left_out().empty()) {
    throw InputError(*db.left_out().begin() + "; nothing else is in '" + selection + "'");
  }
  if (cells.empty()) {
    throw InputError("[store] " + db.path().string() + " holds no run; fill it with `perfbench sweep` or " +
                     "`perfbench ingest`");
  }
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

std::string report_text(const Connection& db, const ReportOptions& options, const CommandContext& context) {
  auto cells = stored_cells(db, options.selection);
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
  const auto report = reports::build_report(cells, request);
  switch (options.format) {
    case ReportFormat::csv:
      return reports::to_csv(report, options.style);
    case ReportFormat::json:
      return reports::to_json(report);
    case ReportFormat::markdown:
      break;
  }
  return reports::to_markdown(report, options.style);
}

}  // namespace perfbench::harness
