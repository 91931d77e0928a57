// perfbench import: takes runs of another database, or results of benchmark programs, into a database.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "harness/app/runs/benchmark_import.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/store/archive/transfer.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

constexpr const char* kOwnFormat = "perfbench";

struct RunImportOptions {
  std::filesystem::path db = "perf.db";
  std::vector<std::filesystem::path> files;
  std::string format = kOwnFormat;
  BenchmarkImport benchmarks;
  bool one_night = false;
  std::uint64_t unpacked_limit_bytes = 0;  // 0: a limit by the size of the file
};

void print_counts(const std::filesystem::path& file, const ImportCounts& tables) {
  const auto& attempts = tables.at("attempts");
  reports::print("{}: {} attempts added ({} step rows), {} already there", file.string(), attempts.added,
                 tables.at("steps").added, attempts.present);
  for (const auto& [table, what] : {std::pair{"baselines", "baselines"}, {"alerts", "alerts"}}) {
    if (tables.at(table).added > 0) reports::print(", {} {} added", tables.at(table).added, what);
  }
  reports::print("\n");
}

void print_imported(const std::string& file, const ImportedBenchmarks& imported) {
  if (imported.present) {
    reports::print("{}: already imported as {}, nothing was added\n", file, imported.sweep_id);
    return;
  }
  std::int64_t all = 0;
  for (const auto& [state, count] : imported.states) all += count;
  reports::print("{}: {} benchmarks of {} added ({} samples) as {}", file, all, imported.matrix, imported.samples,
                 imported.sweep_id);
  for (const auto& [state, count] : imported.states) {
    if (state != AttemptState::ok) reports::print(", {} {}", count, spec::enum_name(state));
  }
  reports::print("\n");
  if (imported.averages > 0) {
    reports::print(stderr, "note: of {} benchmarks there are averages and no samples\n", imported.averages);
  }
  for (const auto& note : imported.notes) reports::print(stderr, "note: {}\n", note);
}

void import_night(const RunImportOptions& options, const std::vector<std::filesystem::path>& files) {
  auto db = open_database(options.db);
  auto request = options.benchmarks;
  request.format = readers::find_benchmark_format(options.format);
  request.files = files;
  const auto more = files.size() == 1 ? "" : fmt::format(" and {} more", files.size() - 1);
  print_imported(files.front().string() + more, import_benchmarks(db, request));
}

// A file that is damaged does not keep the others from being imported, unless they are one night.
std::vector<std::vector<std::filesystem::path>> separate_imports(const RunImportOptions& options) {
  if (options.one_night) return {options.files};
  std::vector<std::vector<std::filesystem::path>> out;
  for (const auto& file : options.files) out.push_back({file});
  return out;
}

void check_options(const RunImportOptions& options) {
  const auto& words = options.benchmarks;
  if (options.format != kOwnFormat) return;
  if (words.matrix.empty() && words.started_utc.empty() && words.git_commit.empty() && !options.one_night) return;
  throw InputError(
      "[import] --matrix, --date, --commit and --one-night describe results of benchmark programs: add --format");
}

ExitCode import_files(const RunImportOptions& options) {
  check_options(options);
  auto code = ExitCode::fine;
  for (const auto& files : separate_imports(options)) {
    try {
      if (options.format == kOwnFormat) {
        print_counts(files.front(), import_runs(options.db, files.front(), options.unpacked_limit_bytes));
      } else {
        import_night(options, files);
      }
    } catch (const InputError& e) {
      reports::print_text(stderr, std::string(e.what()) + "\n");
      code = ExitCode::usage;
    }
  }
  return code;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names{kOwnFormat};
  for (const auto& format : readers::benchmark_formats()) names.emplace_back(format.name);
  return names;
}

std::string format_list() {
  std::string out;
  for (const auto& [name, reads, read] : readers::benchmark_formats()) out += fmt::format("  {:<17} {}\n", name, reads);
  return out;
}

void add_benchmark_options(CLI::App& command, RunImportOptions& options) {
  const auto take = [&options](const std::string& name) { options.format = name; };
  add_name_option(command, "--format", format_names(), take, "what wrote the files")->default_str(kOwnFormat);
  command
      .add_option("--matrix", options.benchmarks.matrix,
                  "name for the benchmarks as a matrix; default: the program that the file names")
      ->type_name("NAME");
  command
      .add_option_function<std::string>(
          "--date", [&options](const std::string& text) { options.benchmarks.started_utc = parse_utc(text); },
          "when they ran, such as 2026-01-31T12:00:00Z; default: the date in the file, or that of the file")
      ->type_name("DATE");
  command
      .add_option("--commit", options.benchmarks.git_commit,
                  "commit of the program that was measured; default: the commit in the file")
      ->type_name("SHA");
  command.add_flag("--one-night", options.one_night,
                   "the files are parts of one night, such as those of several benchmark programs; without it, a "
                   "benchmark that is only in an earlier file has vanished");
}

}  // namespace

void add_import(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("import", "Imports files of `perfbench export`, or results of benchmark programs");
  auto options = std::make_shared<RunImportOptions>();
  add_db_option(*command, options->db, "database; created if it does not exist");
  add_path(*command, "FILE", options->files, PathIs::file, "known records are left unchanged")->required();
  add_benchmark_options(*command, *options);
  add_amount(
      *command, "--unpacked-limit", kSize, {.factor = 1, .name = "bytes"},
      {.bounds = {1, 0x1p50}, .shown_bounds = "from 1B to 1024TiB"},
      [options](double bytes) { options->unpacked_limit_bytes = static_cast<std::uint64_t>(bytes); },
      "limit for the unpacked size of a file; default: 200 times its size, at least 64 MiB");
  command->footer(
      "Each file is checked first, including every row, and imported completely or not at all.\n"
      "Formats of benchmark programs:\n" +
      format_list() +
      "Each file of these is a night of its matrix, or with --one-night a part of it. Each benchmark is a cell, and\n"
      "its time is step_time_s. Files are known by their contents: importing them again adds nothing. A series of\n"
      "averages never continues one of samples.\n"
      "Examples:\n"
      "  perfbench import --db all-machines.db node1.perfbench node2.perfbench\n"
      "  perfbench import --format google-benchmark --db bench.db monday.json tuesday.json\n"
      "  perfbench import --format google-benchmark --one-night --matrix suite sort.json attention.json\n"
      "  perfbench import --format nccl-tests --matrix all_reduce --date 2026-01-31 --db bench.db nccl.log\n"
      "Exit codes: 0 everything was imported; 3 some file is damaged, newer than this perfbench, has an invalid row,\n"
      "or contradicts the database (the others are imported anyway).");
  command->callback([options, &context] { context.exit_code = import_files(*options); });
}

}  // namespace perfbench::harness
