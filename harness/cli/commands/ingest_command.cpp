// perfbench ingest: stores run directories in a database.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

struct IngestOptions {
  std::filesystem::path db = "perf.db";
  std::vector<std::filesystem::path> folders;
};

void print_report(const std::filesystem::path& folder, const IngestReport& report) {
  reports::print("{}: {} attempts added ({} step rows), {} already there", folder.string(), report.added,
                 report.step_rows, report.present);
  if (report.unfinished > 0) reports::print(", {} without attempt.json left out", report.unfinished);
  if (report.lost_step_lines > 0) reports::print(", {} step lines were cut off", report.lost_step_lines);
  reports::print("\n");
  for (const auto& problem : report.trace_problems) {
    reports::print(stderr, "{} (stored without its trace)\n", problem);
  }
  for (const auto& damaged : report.damaged) reports::print(stderr, "{}\n", damaged);
  for (const auto& problem : report.problems) reports::print(stderr, "{}\n", problem);
}

ExitCode ingest(const IngestOptions& options) {
  auto db = open_database(options.db);
  auto code = ExitCode::fine;
  for (const auto& folder : options.folders) {
    const auto report = ingest_tree(db, folder);
    print_report(folder, report);
    if (!report.problems.empty()) code = ExitCode::usage;
  }
  return code;
}

}  // namespace

void add_ingest(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("ingest", "Stores run directories in a database; known attempts are left unchanged");
  auto options = std::make_shared<IngestOptions>();
  add_db_option(*command, options->db, "database; created if it does not exist");
  add_path(*command, "DIR", options->folders, PathIs::folder, "folders of runs, searched to any depth")->required();
  command->footer(
      "Example:\n"
      "  perfbench ingest perf.runs --db rebuilt.db\n"
      "Files that a crash or a full disk damaged are left out, and the reason of their attempt names them.\n"
      "Exit codes: 0 everything was stored; 3 some folder is broken: its attempt is stored as crashed, or, if its "
      "run.json\n"
      "or attempt.json is damaged, not at all (the others are stored anyway).");
  command->callback([options, &context] { context.exit_code = ingest(*options); });
}

}  // namespace perfbench::harness
