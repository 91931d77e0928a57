// perfbench show: all facts about one run, or the basis of a verdict.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "harness/app/execution.h"
#include "harness/app/runs/run_name.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/system/input_error.h"
#include "reports/content/judgement_document.h"
#include "reports/views/run_views.h"
#include "workloads/spec/suggest.h"

namespace perfbench::harness {
namespace {

struct ShowOptions {
  std::string run;
  std::filesystem::path db = "perf.db";
  std::filesystem::path runs;
  bool full = false;
  std::string cell;
  reports::DocumentFormat format = reports::DocumentFormat::text;
  LayoutOptions layout;
};

constexpr std::string_view kVerdict = "verdict:";
constexpr std::string_view kAlert = "alert:";

[[noreturn]] void no_verdict(const Connection& db, const std::string& id) {
  constexpr std::size_t kListed = 5;
  auto known = judgement_ids(db);
  std::reverse(known.begin(), known.end());
  const auto near = spec::nearest(id, known);
  if (known.size() > kListed) known.resize(kListed);
  throw InputError(fmt::format(
      "[show] verdict:{}: {} has no record of that decision{}; a decision is named by the id of a comparison in pairs, "
      "the sweep of a night, or what compare --baseline printed; the newest: {}",
      id, db.path().string(), near ? " (did you mean '" + *near + "'?)" : "",
      known.empty() ? std::string("none, because an earlier perfbench did not keep any")
                    : fmt::format("{}", fmt::join(known, ", "))));
}

ExitCode show_verdict(const ShowOptions& options, const Connection& db) {
  const auto id = options.run.substr(kVerdict.size());
  const auto judgement = find_judgement(db, id);
  if (!judgement) no_verdict(db, id);
  const auto& lines = judgement->lines;
  const bool known = options.cell.empty() || std::any_of(lines.begin(), lines.end(), [&](const LedgerLine& line) {
                       return line.cell == options.cell;
                     });
  if (!known) {
    std::vector<std::string> cells;
    for (const auto& line : lines) {
      const bool is_new = std::find(cells.begin(), cells.end(), line.cell) == cells.end();
      if (!line.cell.empty() && is_new) cells.push_back(line.cell);
    }
    throw InputError(fmt::format("[show] --cell '{}': there is no such cell of {}{}", options.cell, id,
                                 spec::suggestion(options.cell, cells)));
  }
  print_document(reports::judgement_document(*judgement, options.cell), options.format, options.layout);
  return tell_left_out(db, ExitCode::fine);
}

// The nights that opened or continued the alert, and the pairs that confirmed it.
ExitCode show_decisions_of_alert(const ShowOptions& options, const Connection& db) {
  const auto alert = find_alert(db, options.run.substr(kAlert.size()));
  auto ids = judgements_of_alert(db, alert.alert_id);
  ids.insert(ids.end(), alert.finding.confirmation.begin(), alert.finding.confirmation.end());
  std::vector<Judgement> judgements;
  for (const auto& id : ids) {
    if (auto found = find_judgement(db, id)) judgements.push_back(std::move(*found));
  }
  print_document(reports::alert_judgements_document(alert, judgements), options.format, options.layout);
  return tell_left_out(db, ExitCode::fine);
}

ExitCode show_run(const ShowOptions& options, const CommandContext& context) {
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  if (options.run.starts_with(kVerdict)) return show_verdict(options, db);
  if (!options.cell.empty()) throw InputError("[show] --cell needs a verdict: show verdict:ID --cell LABEL");
  if (options.run.starts_with(kAlert)) return show_decisions_of_alert(options, db);
  const reports::RunQuery query{.runs = runs_folder(options.runs, options.db),
                                .fields = options.full ? Fields::all : Fields::not_default};
  reports::MemoryCounts memory({context.engine});
  print_document(reports::run_view(db, find_run(db, options.run, "show"), query, context, memory), options.format,
                 options.layout);
  return tell_left_out(db, ExitCode::fine);
}

}  // namespace

void add_show(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("show", "Everything about one run, or the basis of a verdict");
  auto options = std::make_shared<ShowOptions>();
  command
      ->add_option("RUN", options->run,
                   std::string(kRunNameHelp) +
                       "; verdict:ID for a comparison or a night, alert:ID for an alert: the basis of the decision")
      ->type_name(kRunNameType)
      ->required();
  add_db_option(*command, options->db, "database");
  add_path(*command, "--runs", options->runs, PathIs::folder,
           "folder of the run directories; default: beside the database");
  command->add_flag("--full", options->full, "every field of the configuration, including those with default values");
  command->add_option("--cell", options->cell, "for a verdict: only this cell, by its label");
  add_enum_option(*command, "--format", options->format, "text, markdown, csv, json, html or svg");
  add_width_option(*command, options->layout);
  add_page_option(*command, options->layout);
  add_file_option(*command, options->layout);
  command->footer(
      "Examples:\n"
      "  perfbench show latest\n"
      "  perfbench show 1f6c0d2ab3e9\n"
      "  perfbench show 1f6c0d2ab3e9/2 --full --format json\n"
      "  perfbench show verdict:20260131T120000Z-3f09ac12d4 --cell model=gpt-mini\n"
      "  perfbench show alert:1a2b3c4d5e6f --format json\n"
      "Exit codes: 0 success; 3 no such run, or success without a row that cannot be read, which is named.");
  command->callback([options, &context] { context.exit_code = show_run(*options, context); });
}

}  // namespace perfbench::harness
