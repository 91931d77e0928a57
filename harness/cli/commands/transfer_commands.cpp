// perfbench export and import: move runs from one database into another through a file.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/store/archive/transfer.h"
#include "harness/system/input_error.h"
#include "reports/render/format/print.h"
#include "workloads/build_info/build_info.h"

namespace perfbench::harness {
namespace {

struct ExportOptions {
  std::filesystem::path db = "perf.db";
  std::string selection = "all";
  std::filesystem::path file;
};

struct TransferOptions {
  std::filesystem::path db = "perf.db";
  std::vector<std::filesystem::path> files;
  std::uint64_t unpacked_limit_bytes = 0;  // 0: a limit by the size of the file
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

void print_counts(const std::filesystem::path& file, const ImportCounts& tables) {
  const auto& attempts = tables.at("attempts");
  reports::print("{}: {} attempts added ({} step rows), {} already there", file.string(), attempts.added,
                 tables.at("steps").added, attempts.present);
  for (const auto& [table, what] : {std::pair{"baselines", "baselines"}, {"alerts", "alerts"}}) {
    if (tables.at(table).added > 0) reports::print(", {} {} added", tables.at(table).added, what);
  }
  reports::print("\n");
}

ExitCode import_files(const TransferOptions& options) {
  auto code = ExitCode::fine;
  for (const auto& file : options.files) {
    try {
      print_counts(file, import_runs(options.db, file, options.unpacked_limit_bytes));
    } catch (const InputError& e) {
      reports::print_text(stderr, std::string(e.what()) + "\n");
      code = ExitCode::usage;
    }
  }
  return code;
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

void add_import(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("import", "Imports files of `perfbench export` into a database");
  auto options = std::make_shared<TransferOptions>();
  add_db_option(*command, options->db, "database; created if it does not exist");
  add_path(*command, "FILE", options->files, PathIs::file, "known records are left unchanged")->required();
  add_amount(
      *command, "--unpacked-limit", kSize, {.factor = 1, .name = "bytes"},
      {.bounds = {1, 0x1p50}, .shown_bounds = "from 1B to 1024TiB"},
      [options](double bytes) { options->unpacked_limit_bytes = static_cast<std::uint64_t>(bytes); },
      "limit for the unpacked size of a file; default: 200 times its size, at least 64 MiB");
  command->footer(
      "Each file is checked first, including every row, and imported completely or not at all.\n"
      "Examples:\n"
      "  perfbench import --db all-machines.db node1.perfbench node2.perfbench\n"
      "Exit codes: 0 everything was imported; 3 some file is damaged, newer than this perfbench, has an invalid row,\n"
      "or contradicts the database (the others are imported anyway).");
  command->callback([options, &context] { context.exit_code = import_files(*options); });
}

}  // namespace perfbench::harness
