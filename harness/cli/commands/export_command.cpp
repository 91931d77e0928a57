// perfbench export: writes runs of a database into one file.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/store/archive/transfer.h"
#include "reports/render/format/print.h"
#include "workloads/build_info/build_info.h"

namespace perfbench::harness {
namespace {

struct ExportOptions {
  std::filesystem::path db = "perf.db";
  std::string selection = "all";
  std::filesystem::path file;
};

ExitCode export_file(const ExportOptions& options) {
  const auto report = export_runs({.db = options.db,
                                   .selection = parse_selection(options.selection),
                                   .file = options.file,
                                   .perfbench_version = std::string(build_info::current().version)});
  reports::print("{}: {} attempts ({} step rows), {} bytes\n", options.file.string(), report.attempts, report.step_rows,
                 report.file_bytes);
  return tell_left_out(report.left_out, ExitCode::fine);
}

}  // namespace

void add_export(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("export", "Exports runs of a database as one file, to be imported elsewhere");
  auto options = std::make_shared<ExportOptions>();
  add_db_option(*command, options->db, "database");
  command
      ->add_option("--select", options->selection,
                   "latest, all, a sweep's id, run:ID or attempt:ID/N; add @SUBJECT to select a subject")
      ->check(selection_complaint)
      ->capture_default_str();
  add_path(*command, "FILE", options->file, PathIs::file,
           "written completely or not at all; an older export is replaced")
      ->required();
  command->footer(
      "A selection includes the baselines and A/B comparisons whose attempts are all selected; `all` also includes "
      "alerts.\n"
      "The file ends with the SHA-256 of everything before its last line.\n"
      "Examples:\n"
      "  perfbench export --db perf.db everything.perfbench\n"
      "  perfbench export --db perf.db --select latest tonight.perfbench\n"
      "Exit codes: 0 success; 3 wrong input, or success without a row that cannot be read, which is named.");
  command->callback([options, &context] { context.exit_code = export_file(*options); });
}

}  // namespace perfbench::harness
