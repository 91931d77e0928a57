// perfbench report: the runs of a database as a table.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/checked_option.h"
#include "harness/cli/commands.h"
#include "harness/cli/enum_option.h"
#include "harness/cli/left_out.h"
#include "harness/cli/stored_cells.h"
#include "harness/store/database.h"
#include "reports/format/print.h"

namespace perfbench::harness {

void add_report(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("report", "The runs of a database as a table");
  auto options = std::make_shared<ReportOptions>();
  add_path(*command, "--db", options->db, PathIs::database, "database")->capture_default_str();
  command->add_option("--sweep", options->selection, "latest, all, a sweep's id, run:ID or attempt:ID/N")
      ->capture_default_str();
  add_enum_option(*command, "--format", options->format, "markdown, csv or json");
  add_enum_option(*command, "--style", options->style,
                  "table, pax (with estimated days), pax_moe, pax_tuning or seqax (Model Size | MFU)");
  add_enum_option(*command, "--definition", options->definition, "FLOPs that MFU counts");
  command->add_option("--baseline", options->baseline, "adds the difference from it: see `perfbench compare --help`");
  command->footer(
      "Examples:\n"
      "  perfbench report --db perf.db\n"
      "  perfbench report --db perf.db --style seqax --definition palm\n"
      "  perfbench report --db perf.db --sweep all --format csv > all.csv\n"
      "  perfbench report --db perf.db --baseline main\n"
      "JSON holds names and reasons exactly; elsewhere control characters are written out, and text in CSV that a\n"
      "spreadsheet would compute (=...) has an apostrophe in front.\n"
      "Exit codes: 0 printed; 3 wrong input, or printed without a row that cannot be read, which is named.");
  command->callback([options, &context] {
    const auto db = open_database(options->db, {.mode = OpenMode::read_only});
    reports::print_text(stdout, report_text(db, *options, context));
    context.exit_code = tell_left_out(db, ExitCode::fine);
  });
}

}  // namespace perfbench::harness
