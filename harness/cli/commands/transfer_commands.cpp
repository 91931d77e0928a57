// perfbench export and import: runs from one database into another, by way of a file.
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
  std::uint64_t unpacked_limit_bytes = 0;  // 0: by the size of the file
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
  auto* command = app.add_subcommand("export", "Runs of a database as one file, to be imported elsewhere");
  auto options = std::make_shared<ExportOptions>();
  add_db_option(*command, options->db, "database");
  command
      ->add_option("--select", options->selection,
                   "latest, all, a sweep's id, run:ID or attempt:ID/N; behind them @SUBJECT")
      ->check(selection_complaint)
      ->capture_default_str();
  add_path(*command, "FILE", options->file, PathIs::file, "written whole or not at all; an older export is replaced")
      ->required();
  command->footer(
      "A selection takes along the baselines and A/B comparisons of which it holds every attempt; `all` takes alerts,\n"
      "too. The file ends with the SHA-256 of all before its last line.\n"
      "Examples:\n"
      "  perfbench export --db perf.db everything.perfbench\n"
      "  perfbench export --db perf.db --select latest tonight.perfbench\n"
      "Exit codes: 0 written; 3 wrong input, or written without a row that cannot be read, which is named.");
  command->callback([options, &context] { context.exit_code = export_file(*options); });
}

void add_import(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("import", "Files of `perfbench export` into a database");
  auto options = std::make_shared<TransferOptions>();
  add_db_option(*command, options->db, "database, made if it does not exist");
  add_path(*command, "FILE", options->files, PathIs::file, "what is there already is left alone")->required();
  add_amount(
      *command, "--unpacked-limit", kSize, {.factor = 1, .name = "bytes"},
      {.bounds = {1, 0x1p50}, .shown_bounds = "from 1B to 1024TiB"},
      [options](double bytes) { options->unpacked_limit_bytes = static_cast<std::uint64_t>(bytes); },
      "what a file may unpack to; 200 times its size, at least 64 MiB, unless given");
  command->footer(
      "Each file is checked first, with every row in it, and taken in whole or not at all.\n"
      "Examples:\n"
      "  perfbench import --db all-machines.db node1.perfbench node2.perfbench\n"
      "Exit codes: 0 all taken in; 3 some file is damaged, newer than this perfbench, holds a row that\n"
      "cannot be, or contradicts the database (the others are taken in all the same).");
  command->callback([options, &context] { context.exit_code = import_files(*options); });
}

}  // namespace perfbench::harness
