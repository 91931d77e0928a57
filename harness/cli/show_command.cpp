// perfbench show: everything of one run.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/app/execution.h"
#include "harness/app/run_view.h"
#include "harness/cli/checked_option.h"
#include "harness/cli/commands.h"
#include "harness/cli/enum_option.h"
#include "harness/cli/left_out.h"
#include "harness/cli/shared_options.h"
#include "harness/store/database.h"
#include "reports/listing/run_document.h"

namespace perfbench::harness {
namespace {

struct ShowOptions {
  std::string run;
  std::filesystem::path db = "perf.db";
  std::filesystem::path runs;
  bool full = false;
  reports::DocumentFormat format = reports::DocumentFormat::text;
  LayoutOptions layout;
};

ExitCode show_run(const ShowOptions& options, const CommandContext& context) {
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  auto view = view_run(db, find_run(db, options.run, "show"), runs_folder(options.runs, options.db),
                       options.full ? Fields::all : Fields::not_default, context);
  view.steps = steps_of(db, view.named);
  view.baseline = against_baseline(db, view);
  view.memory = memory_of(*view.named.attempts.front().run, {context.engine});
  print_document(reports::run_document(view), options.format, options.layout);
  return tell_left_out(db, ExitCode::fine);
}

}  // namespace

void add_show(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("show", "Everything of one run: what, where, how it ended, its numbers");
  auto options = std::make_shared<ShowOptions>();
  command->add_option("RUN", options->run, kRunNameHelp)->type_name(kRunNameType)->required();
  add_db_option(*command, options->db, "database");
  add_path(*command, "--runs", options->runs, PathIs::folder,
           "folder of the run directories; beside the database unless given");
  command->add_flag("--full", options->full, "every field of the configuration, not only what is not the default");
  add_enum_option(*command, "--format", options->format, "text, markdown, csv, json, html or svg");
  add_width_option(*command, options->layout);
  add_page_option(*command, options->layout);
  add_file_option(*command, options->layout);
  command->footer(
      "Examples:\n"
      "  perfbench show latest\n"
      "  perfbench show 1f6c0d2ab3e9\n"
      "  perfbench show 1f6c0d2ab3e9/2 --full --format json\n"
      "Exit codes: 0 printed; 3 no such run, or printed without a row that cannot be read, which is named.");
  command->callback([options, &context] { context.exit_code = show_run(*options, context); });
}

}  // namespace perfbench::harness
