// perfbench tag: a name for a run.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/app/author.h"
#include "harness/app/runs/run_name.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/tag_ledger.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

struct TagOptions {
  std::string run;
  std::string name;
  std::string author;
  std::filesystem::path db = "perf.db";
  bool remove = false;
};

ExitCode tag(const TagOptions& options) {
  auto db = open_database(options.db, {.absent = AbsentFile::is_an_error});
  const auto named = find_run(db, options.run, "tag");
  if (options.remove) {
    remove_tag(db, options.name, named.run_id, named.attempt_key());
    reports::print("tag '{}' removed\n", options.name);
  } else {
    record_tag(db, {.name = options.name,
                    .run_id = named.run_id,
                    .attempt_key = named.attempt_key(),
                    .author = author_or_current(options.author),
                    .created_utc = utc_now()});
    reports::print("tag '{}': {}\n", options.name, named.text());
  }
  return tell_left_out(db, ExitCode::fine);
}

}  // namespace

void add_tag(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("tag", "Gives a run or an attempt a name that every command knows");
  auto options = std::make_shared<TagOptions>();
  command->add_option("RUN", options->run, kRunNameHelp)->type_name(kRunNameType)->required();
  command->add_option("NAME", options->name, "letters, digits and . _ - +; names one run or attempt at a time")
      ->required();
  command->add_flag("--remove", options->remove, "remove the name from that run");
  add_author_option(*command, options->author);
  add_db_option(*command, options->db, "database");
  command->footer(
      "`perfbench prune` keeps runs with tags.\n"
      "Examples:\n"
      "  perfbench tag 1f6c0d2ab3e9/2 before-fix\n"
      "  perfbench diff before-fix latest\n"
      "  perfbench tag before-fix before-fix --remove\n"
      "Exit codes: 0 success; 3 no such run, or a name that is taken or not allowed.");
  command->callback([options, &context] { context.exit_code = tag(*options); });
}

}  // namespace perfbench::harness
