// perfbench export: writes runs of a database into one file.
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/evidence/output_file.h"
#include "harness/store/archive/transfer.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/alert_ledger.h"
#include "harness/store/queries/names.h"
#include "harness/system/utc.h"
#include "reports/content/badge.h"
#include "reports/content/data_exports.h"
#include "reports/render/format/print.h"
#include "workloads/build_info/build_info.h"

namespace perfbench::harness {

// perfbench: for `perfbench import`. The others are for other programs.
enum class ExportFormat { perfbench, openmetrics, jsonl, badge };

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::ExportFormat> {
  using F = perfbench::harness::ExportFormat;
  static constexpr std::array kNames{std::pair{F::perfbench, "perfbench"}, std::pair{F::openmetrics, "openmetrics"},
                                     std::pair{F::jsonl, "jsonl"}, std::pair{F::badge, "badge"}};
};

namespace perfbench::harness {
namespace {

struct ExportOptions {
  std::filesystem::path db = "perf.db";
  std::string selection = "all";
  std::filesystem::path file;
  ExportFormat format = ExportFormat::perfbench;
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

ExitCode write_file(const ExportOptions& options,
                    const std::function<void(const Connection&, const WriteText&)>& fill) {
  const auto db = open_database(options.db, {.mode = OpenMode::read_only});
  write_output(options.file, [&](const WriteText& write) { fill(db, write); });
  return tell_left_out(db, ExitCode::fine);
}

ExitCode run_export(const ExportOptions& options) {
  const auto metrics = [](const Connection& db, const WriteText& write) { write(reports::open_metrics(db)); };
  const auto lines = [&options](const Connection& db, const WriteText& write) {
    reports::write_run_lines(db, parse_selection(options.selection), write);
  };
  const auto badge = [](const Connection& db, const WriteText& write) {
    write(reports::badge_svg(reports::badge_of(load_alerts(db, AlertScope::live), newest_night_utc(db, utc_now()))));
  };
  switch (options.format) {
    case ExportFormat::badge:
      return write_file(options, badge);
    case ExportFormat::openmetrics:
      return write_file(options, metrics);
    case ExportFormat::jsonl:
      return write_file(options, lines);
    case ExportFormat::perfbench:
      break;
  }
  return export_file(options);
}

}  // namespace

void add_export(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("export", "Exports runs of a database as one file, for another database or other programs");
  auto options = std::make_shared<ExportOptions>();
  add_db_option(*command, options->db, "database");
  command
      ->add_option("--select", options->selection,
                   "latest, all, a sweep's id, run:ID or attempt:ID/N; add @SUBJECT to select a subject")
      ->check(selection_complaint)
      ->capture_default_str();
  add_enum_option(
      *command, "--format", options->format,
      "perfbench: for `perfbench import`; openmetrics: the newest values, for Prometheus; jsonl: a line for "
      "each attempt, with all of its metrics; badge: an SVG of the alerts");
  add_path(*command, "FILE", options->file, PathIs::file,
           "written completely or not at all; an older export is replaced")
      ->required();
  command->footer(
      "perfbench: a selection includes the baselines and A/B comparisons whose attempts are all selected; `all` also\n"
      "includes alerts. The file ends with the SHA-256 of everything before its last line.\n"
      "openmetrics: the newest sweep of each matrix, whatever --select says; `perfbench serve` has the same at "
      "/metrics.\n"
      "Values have no timestamps; perfbench_cell_measured_timestamp_seconds says when they were measured.\n"
      "badge: the open alerts and the largest change, or the date of the newest night without any.\n"
      "Examples:\n"
      "  perfbench export --db perf.db everything.perfbench\n"
      "  perfbench export --db perf.db --select latest tonight.perfbench\n"
      "  perfbench export --db perf.db --format openmetrics perfbench.prom\n"
      "  perfbench export --db perf.db --format jsonl --select latest runs.jsonl\n"
      "  perfbench export --db perf.db --format badge perfbench.svg\n"
      "Exit codes: 0 success; 3 wrong input, or success without a row that cannot be read, which is named.");
  command->callback([options, &context] { context.exit_code = run_export(*options); });
}

}  // namespace perfbench::harness
