// perfbench diff: two runs side by side.
#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "harness/app/execution.h"
#include "harness/app/runs/run_name.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/store/database.h"
#include "reports/views/run_views.h"

namespace perfbench::harness {
namespace {

struct DiffOptions {
  std::string left;
  std::string right;
  std::filesystem::path db = "perf.db";
  reports::DocumentFormat format = reports::DocumentFormat::text;
  LayoutOptions layout;
};

ExitCode diff(const DiffOptions& options, const CommandContext& context) {
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  auto left = find_run(db, options.left, "diff");
  auto right = find_run(db, options.right, "diff");
  const auto document =
      reports::difference_view(db, std::move(left), std::move(right), {.runs = runs_folder({}, options.db)}, context);
  print_document(document, options.format, options.layout);
  return tell_left_out(db, ExitCode::fine);
}

}  // namespace

void add_diff(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("diff", "Two runs side by side: configuration, environment, numbers");
  auto options = std::make_shared<DiffOptions>();
  command->add_option("RUN1", options->left, kRunNameHelp)->type_name(kRunNameType)->required();
  command->add_option("RUN2", options->right, "the other one")->type_name(kRunNameType)->required();
  add_db_option(*command, options->db, "database");
  add_output_options(*command, options->format, reports::DocumentFormat::text, options->layout,
                     "text, markdown, csv, json, html or svg");
  command->footer(
      "Shows the differences without a verdict: two runs decide nothing about speed. Use `perfbench compare` for "
      "sweeps\n"
      "and baselines, or `perfbench compare --ab` for pairs.\n"
      "Example:\n"
      "  perfbench diff before-fix latest\n"
      "Exit codes: 0 success, with or without differences; 3 no such run, or success without a row that cannot be "
      "read,\n"
      "which is named.");
  command->callback([options, &context] { context.exit_code = diff(*options, context); });
}

}  // namespace perfbench::harness
