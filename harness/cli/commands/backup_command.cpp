// perfbench backup and restore: copies of a whole database.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/store/backup.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

struct BackupOptions {
  std::filesystem::path db = "perf.db";
  std::filesystem::path file;
};

void print_copy(const std::filesystem::path& file, const BackupReport& report) {
  reports::print("{}: {} attempts, {} bytes\n", file.string(), report.attempts, report.file_bytes);
}

}  // namespace

void add_backup(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("backup", "Copies a database, also while others write to it");
  auto options = std::make_shared<BackupOptions>();
  add_path(*command, "FILE", options->file, PathIs::file, "the copy; an older copy is replaced")->required();
  add_db_option(*command, options->db, "database");
  command->footer(
      "The copy has everything that the database has at one moment, and is checked before it gets its name. Run\n"
      "directories are not part of it: they can be copied as files, and `perfbench ingest` reads them.\n"
      "Example:\n"
      "  perfbench backup nightly-2026-01-31.db --db nightly.db\n"
      "Exit codes: 0 success; 3 no such database, or FILE is something else; 4 it cannot be written.");
  command->callback([options, &context] {
    print_copy(options->file, back_up(options->db, options->file));
    context.exit_code = ExitCode::fine;
  });
}

void add_restore(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("restore", "Makes a database from a copy of `perfbench backup`");
  auto options = std::make_shared<BackupOptions>();
  add_path(*command, "FILE", options->file, PathIs::file, "the copy")->required();
  add_db_option(*command, options->db, "database, which must not exist");
  command->footer(
      "The copy is checked first. An existing database is never replaced: move it away yourself.\n"
      "Example:\n"
      "  perfbench restore nightly-2026-01-31.db --db nightly.db\n"
      "Exit codes: 0 success; 3 the database exists, or FILE is not a sound copy; 4 it cannot be written.");
  command->callback([options, &context] {
    print_copy(options->db, restore(options->file, options->db));
    context.exit_code = ExitCode::fine;
  });
}

}  // namespace perfbench::harness
