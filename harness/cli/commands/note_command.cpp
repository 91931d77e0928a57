// perfbench note: adds a note to a run.
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

struct NoteOptions {
  std::string run;
  std::string text;
  std::string author;
  std::filesystem::path db = "perf.db";
};

ExitCode write_note(const NoteOptions& options) {
  auto db = open_database(options.db, {.absent = AbsentFile::is_an_error});
  const auto named = find_run(db, options.run, "note");
  record_note(db, {.run_id = named.run_id,
                   .attempt_key = named.attempt_key(),
                   .author = author_or_current(options.author),
                   .text = options.text,
                   .created_utc = utc_now()});
  reports::print("noted of {}\n", named.text());
  return tell_left_out(db, ExitCode::fine);
}

}  // namespace

void add_note(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("note", "Adds a note to a run, which `perfbench show` prints");
  auto options = std::make_shared<NoteOptions>();
  command->add_option("RUN", options->run, kRunNameHelp)->type_name(kRunNameType)->required();
  command->add_option("TEXT", options->text, "the note")->required();
  add_author_option(*command, options->author);
  add_db_option(*command, options->db, "database");
  command->footer(
      "Notes are added and never changed. `perfbench prune` keeps runs with notes.\n"
      "Example:\n"
      "  perfbench note latest 'the fan was broken that night'\n"
      "Exit codes: 0 success; 3 no such run.");
  command->callback([options, &context] { context.exit_code = write_note(*options); });
}

}  // namespace perfbench::harness
