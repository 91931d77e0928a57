// perfbench prune: deletes attempts that nothing needs.
#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <string_view>

#include "harness/app/execution.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/store/attempts/prune.h"
#include "harness/store/database.h"
#include "harness/system/utc.h"
#include "reports/render/format/number.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

constexpr Bounds<std::int64_t> kSweepsKept{0, 1'000'000};
constexpr double kSecondsOfADay = 86'400;
constexpr double kMostDaysKept = 36'500;

struct PruneOptions {
  std::filesystem::path db = "perf.db";
  std::filesystem::path runs;
  PruneRule rule;
  bool evidence = false;
  bool yes = false;
};

std::string_view reason_text(KeptFor reason) {
  switch (reason) {
    case KeptFor::baseline:
      return "of a baseline";
    case KeptFor::alert:
      return "of a night or a comparison of an alert";
    case KeptFor::comparison:
      return "of a comparison in pairs";
    case KeptFor::tag:
      return "with a tag";
    case KeptFor::note:
      return "with a note";
    case KeptFor::history:
      return "of a night that the screen uses";
    case KeptFor::recent:
      return "within --keep-days";
    case KeptFor::newest:
      return "of the newest --keep-sweeps of their matrix";
    case KeptFor::no_sweep:
      break;
  }
  return "outside a sweep, so --keep-sweeps does not apply";
}

void print_result(const PruneResult& result, const PruneOptions& options) {
  reports::print("{}: {} attempts with {} step rows, {} of the database", options.yes ? "freed" : "would be freed",
                 result.attempts, result.step_rows, reports::human_bytes(result.database_bytes));
  if (options.evidence) {
    reports::print(", {} run directories with {} of evidence", result.evidence_folders,
                   reports::human_bytes(result.evidence_bytes));
  }
  reports::print("\n");
  for (const auto& [reason, attempts] : result.kept) reports::print("kept: {} {}\n", attempts, reason_text(reason));
  for (const auto& problem : result.problems) reports::print(stderr, "[prune] {}\n", problem);
  if (!options.yes && result.attempts > 0) reports::print("Nothing was deleted; use --yes to delete.\n");
  if (options.yes && !options.evidence && result.attempts > 0) {
    reports::print("Run directories were kept: `perfbench ingest` restores their attempts.\n");
  }
}

ExitCode prune_database(const PruneOptions& options) {
  auto db = open_database(options.db, {.absent = AbsentFile::is_an_error});
  const auto result = prune(db, {.rule = options.rule,
                                 .act = options.yes ? PruneDo::remove : PruneDo::say,
                                 .evidence = options.evidence ? PruneEvidence::remove : PruneEvidence::keep,
                                 .runs = runs_folder(options.runs, options.db),
                                 .now_utc = utc_now()});
  print_result(result, options);
  return result.problems.empty() ? ExitCode::fine : ExitCode::failure;
}

}  // namespace

void add_prune(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("prune", "Deletes attempts that nothing needs; without --yes only lists them");
  auto options = std::make_shared<PruneOptions>();
  add_db_option(*command, options->db, "database");
  add_number(*command, "--keep-sweeps", options->rule.keep_sweeps, kSweepsKept,
             "keep this many of the newest sweeps of each matrix; its controls, comparisons and reproductions are "
             "counted separately");
  add_amount(
      *command, "--keep-days", duration_such_as("36h, 90d or 12w"), {.factor = kSecondsOfADay, .name = "days"},
      {.bounds = {0, kMostDaysKept * kSecondsOfADay}, .shown_bounds = "up to 36500d"},
      [options](double seconds) {
        options->rule.keep_days = static_cast<std::int64_t>(std::ceil(seconds / kSecondsOfADay));
      },
      "keep what was started within this time, in whole days");
  command->add_flag("--evidence", options->evidence, "also delete the run directories of those attempts");
  add_path(*command, "--runs", options->runs, PathIs::folder,
           "folder of the run directories; default: beside the database");
  command->add_flag("--yes", options->yes, "do it");
  command->footer(
      "Attempts that either --keep option names stay. So does everything that a baseline, an alert, a comparison in "
      "pairs,\n"
      "a tag, a note or the history of the nightly screen needs. A run directory is removed only if its attempt.json\n"
      "belongs to exactly that attempt; links are not followed.\n"
      "Examples:\n"
      "  perfbench prune --keep-sweeps 20 --db perf.db\n"
      "  perfbench prune --keep-days 90 --evidence --yes --db perf.db\n"
      "Exit codes: 0 success; 3 wrong input; 4 something could not be removed.");
  command->callback([options, &context] { context.exit_code = prune_database(*options); });
}

}  // namespace perfbench::harness
