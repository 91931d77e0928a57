// perfbench report: the runs of a database as a table.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "reports/render/format/print.h"
#include "reports/views/store_views.h"

namespace perfbench::harness {
namespace {

struct ReportOptions {
  std::filesystem::path db = "perf.db";
  TableQuery query;
  reports::DocumentFormat format = reports::DocumentFormat::markdown;
  LayoutOptions layout;
  reports::ReportLook look;
};

// A user who has swept several matrices into one database sees only one of them.
void tell_other_matrices(const Connection& db) {
  const auto newest = newest_sweeps(db);
  if (newest.size() < 2) return;
  std::string others = newest[1].matrix;
  for (std::size_t i = 2; i < newest.size(); ++i) others += ", " + newest[i].matrix;
  reports::print(stderr,
                 "[report] this is the newest sweep, of {}; left out are those of: {}. --matrix NAME shows the newest "
                 "of one matrix, --matrix '*' of each\n",
                 newest.front().matrix, others);
}

}  // namespace

void add_report(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("report", "The runs of a database as a table");
  auto options = std::make_shared<ReportOptions>();
  add_db_option(*command, options->db, "database");
  auto* sweep = command
                    ->add_option("--sweep", options->query.selection,
                                 "latest (of any matrix), all, a sweep's id, run:ID or attempt:ID/N; add @SUBJECT for "
                                 "the attempts of one commit, engine, side or fault")
                    ->check(selection_complaint)
                    ->capture_default_str();
  command
      ->add_option("--matrix", options->query.matrices,
                   "instead of --sweep: the newest sweep of a matrix by its name, * globs; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->excludes(sweep);
  add_output_options(*command, options->format, reports::DocumentFormat::markdown, options->layout,
                     "text (for a terminal), markdown, csv, json, html or svg");
  add_enum_option(
      *command, "--style", options->look.style,
      "table, or a reference system's own columns: maxtext, pax (with estimated days), pax_moe, pax_tuning, axlearn, "
      "torchprime or seqax (Model Size | MFU)");
  auto& rows = options->look.rows;
  command
      ->add_option(
          "--columns", rows.columns,
          "these columns alone, by their keys of --format json, with commas; a unit at the end may be left out")
      ->delimiter(',')
      ->type_name("KEY")
      ->excludes(command->get_option("--style"));
  auto* sort =
      command
          ->add_option("--sort", rows.sort, "sort by this column, the best value first, or as KEY:asc or KEY:desc says")
          ->type_name("KEY");
  add_number(*command, "--best", rows.best, Bounds<std::size_t>{1, 1'000'000}, "only the first rows after sorting")
      ->needs(sort);
  add_number(*command, "--price", rows.device_hour_price, Bounds<double>{1e-9, 1e9},
             "price of an hour of one device, in any currency: adds the cost of a million tokens")
      ->excludes(command->get_option("--style"));
  command
      ->add_option("--heat-map", rows.heat_map,
                   "for html and svg: the two axes of the heat map, with a comma; default: those that have the most "
                   "pairs of values")
      ->delimiter(',')
      ->type_name("KEY");
  add_enum_option(*command, "--definition", options->query.definition, "definition of the FLOPs for MFU");
  command
      ->add_option("--baseline", options->query.baseline,
                   "add the difference from this baseline: see `perfbench compare --help`")
      ->check(published_check(context));
  command->footer(
      "Examples:\n"
      "  perfbench report --db perf.db\n"
      "  perfbench report --db perf.db --style seqax --definition palm\n"
      "  perfbench report --db perf.db --matrix llama --matrix 'pax_*'\n"
      "  perfbench report --db perf.db --matrix '*'      a table for each matrix, of its newest sweep\n"
      "  perfbench report --db perf.db --sweep all --format csv > all.csv\n"
      "  perfbench report --db perf.db --sweep all@a1b2c3d4      what one engine ran, by its commit\n"
      "  perfbench report --db perf.db --baseline main\n"
      "  perfbench report --db perf.db --sort step_time_s --best 5 --columns model,remat,step_time,mfu\n"
      "  perfbench report --db perf.db --heat-map remat,attention --format html > report.html\n"
      "Runs of several engines are separate rows, distinguished by a column; runs with an injected fault are left out "
      "of\n"
      "--sweep all, which says how to see them.\n"
      "Step times are medians over n runs; the spread shows how far the runs lie around them. On a terminal, values "
      "that all\n"
      "rows share are printed once above the table, and wide cells are wrapped.\n"
      "JSON has names and reasons exactly; other formats escape control characters, and text in CSV that a\n"
      "spreadsheet would evaluate (=...) has an apostrophe in front.\n"
      "Exit codes: 0 success; 3 wrong input, or success without a row that cannot be read, which is named.");
  command->callback([options, &context] {
    const auto db = open_database(options->db, {.mode = OpenMode::read_only});
    print_document(reports::report_view(db, options->query, options->look, context), options->format, options->layout);
    if (options->query.matrices.empty() &&
        parse_selection(options->query.selection).kind == SelectionKind::latest_sweep) {
      tell_other_matrices(db);
    }
    context.exit_code = tell_left_out(db, ExitCode::fine);
  });
}

}  // namespace perfbench::harness
