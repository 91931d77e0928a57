// perfbench history: the nights of each series, screened for shifts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "harness/app/night/history.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/store/database.h"
#include "harness/system/input_error.h"
#include "reports/render/format/print.h"
#include "reports/views/store_views.h"

namespace perfbench::harness {
namespace {

constexpr Bounds<std::int64_t> kNightsRead{1, 100'000};

struct HistoryOptions {
  std::filesystem::path db = "perf.db";
  reports::DocumentFormat format = reports::DocumentFormat::text;
  LayoutOptions layout;
  HistoryQuery query;
  ScreenBudget budget;
};

ExitCode history(const HistoryOptions& options) {
  const auto complaint = metric_complaint(options.query.metric);  // a program may declare a metric of its own
  if (!complaint.empty() && !std::filesystem::exists(options.db)) throw InputError("[history] --metric " + complaint);
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  const auto view = reports::history_view(db, options.query, options.budget);
  const auto& result = *view.result;
  if (result.series.empty()) {
    tell_left_out(db, ExitCode::usage);
    if (!complaint.empty()) {
      throw InputError("[history] --metric " + complaint + "\nNo program that these nights ran declares it.");
    }
    throw InputError("[history] " + db.path().string() + " has no finished run with " + options.query.metric +
                     " in a night, for a cell that matches '" + options.query.series +
                     "' (MATRIX/CELL); `perfbench nightly` makes nights, and a sweep by hand does not count as one");
  }
  for (const auto& night : result.future) reports::print(stderr, "note: {}\n", future_night_text(night));
  print_document(view.document, options.format, options.layout);
  const bool known = std::any_of(result.series.begin(), result.series.end(),
                                 [](const ScreenedSeries& series) { return series.known.has_value(); });
  const auto screened = result.findings().empty() && !known ? ExitCode::fine : ExitCode::inconclusive;
  return tell_left_out(db, result.vanished.empty() ? screened : ExitCode::regression);
}

}  // namespace

void add_history(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("history", "The nights of each series, screened for shifts");
  auto options = std::make_shared<HistoryOptions>();
  add_db_option(*command, options->db, "database");
  command->add_option("--series", options->query.series, "the series to show: a pattern with * over MATRIX/CELL")
      ->capture_default_str();
  command->add_option("--metric", options->query.metric, "metric of the catalog, or one that a program declares")
      ->type_name("METRIC")
      ->capture_default_str();
  add_number(*command, "--nights", options->query.nights, kNightsRead, "number of the newest nights to read")
      ->capture_default_str();
  add_screens_option(*command, options->budget);
  add_output_options(*command, options->format, reports::DocumentFormat::markdown, options->layout,
                     "text, markdown, csv (a line for each series) or json (with every night)");
  command->footer(
      "Examples:\n"
      "  perfbench history --db perf.db\n"
      "  perfbench history --series 'nightly/*fsdp=2*' --metric peak_memory_bytes\n"
      "A night is one sweep of `perfbench nightly`; its value is the median over its runs, on the log scale. Times and "
      "rates\n"
      "are corrected by the control (a fixed engine that runs every night). If the facts of the machine change, a new "
      "segment begins.\n"
      "A shift is a reason to compare (`perfbench compare --ab`), not a verdict. A shift with an alert is known: the "
      "nights\n"
      "before it are moved to the present level, and findings are new ones.\n"
      "Exit codes: 0 no findings; 1 a cell vanished or diverged; 2 a series shifted, to be confirmed, or has a live\n"
      "alert; 3 no findings, but a row of the database cannot be read and was left out.");
  command->callback([options, &context] { context.exit_code = history(*options); });
}

}  // namespace perfbench::harness
