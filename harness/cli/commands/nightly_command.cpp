// perfbench nightly: the one command of a nightly CI job.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <utility>

#include "harness/app/night/alert_delivery.h"
#include "harness/app/night/demonstration_night.h"
#include "harness/app/pairs/ab_comparison.h"
#include "harness/app/sweep/checks.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/evidence/output_file.h"
#include "harness/matrix/run_keys.h"
#include "harness/system/input_error.h"
#include "harness/system/utc.h"
#include "reports/content/alert_document.h"
#include "reports/content/checks.h"
#include "reports/content/night_document.h"
#include "reports/content/webhook_body.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {

enum class HistoryFrom { store, simulated };  // simulated: a demonstration

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::HistoryFrom> {
  using H = perfbench::harness::HistoryFrom;
  static constexpr std::array kNames{std::pair{H::store, "store"}, std::pair{H::simulated, "simulated"}};
};

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

struct NightlyOptions {
  NightOptions night;
  HistoryFrom history = HistoryFrom::store;
  std::string fault = "slow:span=matmul,fraction=1";  // for a demonstration
  reports::DocumentFormat format = reports::DocumentFormat::text;
  LayoutOptions layout;
  fs::path markdown;  // empty: only standard output
  fs::path junit;
  bool github = false;
  bool no_confirm = false;
  bool no_control = false;
  bool ignore_alerts = false;
};

// The place where GitHub Actions shows a job's summary. Other steps may have written to it, too.
void append_step_summary(const std::string& markdown) {
  const char* const file = std::getenv("GITHUB_STEP_SUMMARY");
  if (file == nullptr || *file == '\0') return;
  std::ofstream out(file, std::ios::app);
  out << markdown << "\n";
  if (!out.flush()) reports::print(stderr, "warning: GITHUB_STEP_SUMMARY {}: cannot write to it\n", file);
}

void publish_night(const NightlyOptions& options, const NightReport& report) {
  const auto document = reports::night_document(report, options.night.ab.db.string());
  print_document(document, options.format, options.layout);
  const auto checks = reports::night_checks(report);
  if (options.github) {
    reports::print_workflow_commands(reports::github_annotations(checks));
    append_step_summary(reports::render_markdown(document));
  }
  if (!options.markdown.empty()) {
    write_output(options.markdown, reports::render_markdown(document));
  }
  if (!options.junit.empty()) write_output(options.junit, reports::to_junit(checks));
}

// Checks now what would otherwise fail in the morning.
void check_files(const NightlyOptions& options) {
  const auto& night = options.night;
  require_writable_file("[nightly] --db", night.ab.db);
  if (fs::exists(night.ab.db) && access(night.ab.db.c_str(), W_OK) != 0) {
    throw InputError(
        fmt::format("[nightly] --db {}: it is read-only; make it writable, or name another one", night.ab.db.string()));
  }
  require_writable_folder("[nightly] --runs", night.runs_folder());
  require_writable_folder("[nightly] --engines", night.archive_folder());
  if (!options.markdown.empty()) require_writable_file("[nightly] --markdown", options.markdown);
  if (!options.layout.html.empty()) require_writable_file("[nightly] --html", options.layout.html);
  if (!options.layout.output.empty()) require_writable_file("[nightly] --output", options.layout.output);
  if (!options.junit.empty()) require_writable_file("[nightly] --junit", options.junit);
  if (night.control.empty()) return;
  if (!fs::is_regular_file(night.control) || access(night.control.c_str(), X_OK) != 0) {
    throw InputError(fmt::format("[nightly] --control {}: it is not an executable file; name a perfbench-engine",
                                 night.control.string()));
  }
}

ExitCode nightly(NightlyOptions& options, const CommandContext& context) {
  const auto target = webhook_from_environment();  // a wrong address should be reported now, not in the morning
  check_files(options);
  options.night.confirm = !options.no_confirm;
  options.night.run_control = !options.no_control;
  if (options.ignore_alerts) options.night.exit_by_alerts = ExitByAlerts::no;
  Interruption interruption;  // before any thread, so that all of them inherit its mask
  const bool simulated = options.history == HistoryFrom::simulated;
  if (simulated && !options.night.ab.execution.launch.is_local()) {
    throw InputError("[nightly] --launcher: a demonstration (--history-from simulated) runs on this machine");
  }
  Night night(simulated ? demonstration_options(options.night) : options.night, context, interruption);
  auto measured = simulated ? measure_demonstration(night, options.fault) : measure(night);
  Screened screened;
  Confirmed confirmed;
  if (!measured.cancelled) {
    screened = screen(night, measured);
    confirmed = confirm(night, measured, screened);
  }
  if (measured.cancelled || confirmed.cancelled) {
    reports::print(stderr, "cancelled; measurements so far are in {}\n", options.night.ab.db.string());
    return ExitCode::failure;
  }
  const auto report =
      raise_alerts(night, std::move(measured), std::move(screened), std::move(confirmed), reports::webhook_body);
  publish_night(options, report);
  auto& db = night.store.db();
  const auto sent = deliver_alerts(db);
  if (target) reports::print(stderr, "{}\n", reports::delivery_text(sent));
  return tell_left_out(db, exit_code_of(report.verdict));
}

void add_night_options(CLI::App& command, NightlyOptions& options) {
  auto& night = options.night;
  add_number(command, "--repeats", night.repeats, Bounds<std::int64_t>{1, kMostRepeats},
             "attempts of every cell, instead of the matrix's");
  add_path(command, "--engines", night.archive, PathIs::folder,
           "folder in which each night's engine is kept; default: beside the database");
  add_path(command, "--control", night.control, PathIs::file,
           "engine that runs every night from now on and shows the machine's own drift, and with which tonight's is "
           "compared once a month; default: the present one, at first tonight's");
  add_screens_option(command, night.budget);
  command.add_flag("--no-control", options.no_control, "do not run the control");
  command.add_flag("--no-confirm", options.no_confirm, "do not run pairs: findings of the screen stay unconfirmed");
  command.add_flag("--ignore-alerts", options.ignore_alerts,
                   "list live alerts of previous nights, but leave them out of verdict and exit code");
  add_enum_option(command, "--history-from", options.history,
                  "simulated: a demonstration in a separate database, with simulated nights, one planted regression "
                  "and simulated time: it takes a minute, whatever else runs");
  command.add_option("--plant", options.fault, "the regression of the demonstration")->capture_default_str();
  add_output_options(command, options.format, reports::DocumentFormat::markdown, options.layout,
                     "text (for a terminal), markdown, csv, json (of the tables), html or svg");
  add_path(command, "--markdown", options.markdown, PathIs::file, "also write the report as Markdown to this file");
  add_path(command, "--junit", options.junit, PathIs::file,
           "write the report as JUnit XML to this file, a test case for each cell");
  command.add_flag("--github", options.github,
                   "print annotations for GitHub Actions, and append the report to the job's summary");
}

}  // namespace

void add_nightly(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("nightly", "A whole night: sweep, screen, confirm, alert, report");
  auto options = std::make_shared<NightlyOptions>();
  auto& ab = options->night.ab;
  ab.pairs = 8;
  ab.detection_judges = DetectionJudges::everything;
  ab.discards_per_pair = 3;  // a noisy machine costs time, but an alert that could not be confirmed costs a night
  add_matrix_options(*command, ab.matrix);
  add_program_options(*command, ab.matrix.program);
  add_db_option(*command, ab.db, "database; created if it does not exist; keep it from night to night");
  add_night_options(*command, *options);
  add_execution_options(*command, ab.execution);
  add_launch_options(*command, ab.execution.launch);
  add_ab_options(*command, ab, "Pairs that confirm a finding");
  command->footer(
      "Runs the matrix and a control, and screens every cell's speed, memory, start-up and loss with the previous "
      "nights.\n"
      "Confirms shifts in the same night: pairs of the last good night's engine, or commit of a training program, and\n"
      "tonight's. Confirmed shifts become alerts (perfbench alerts) with the largest causes; alerts go to\n"
      "PERFBENCH_WEBHOOK_URL if it is set.\n"
      "A cell with too few nights on this class of machine is compared in such pairs even without a shift.\n"
      "Once a month all cells are also paired with the control's engine, or with the engine of their newest\n"
      "improvement, which shows a creep that no single night does.\n"
      "Examples:\n"
      "  perfbench nightly matrices/llama.yaml --db nightly.db --junit nightly.xml --markdown nightly.md\n"
      "  perfbench nightly matrices/quickstart.yaml --db n.db --history-from simulated\n"
      "  perfbench nightly matrices/llama.yaml --db nightly.db --launcher slurm:gpu --launch-option=--gres=gpu:8\n"
      "An alert stays live until somebody closes it (perfbench alerts). While an alert of this matrix is open the "
      "exit\n"
      "code is 1, while one is acknowledged 2, whatever tonight shows; --ignore-alerts leaves them out of it.\n"
      "Exit codes: 0 nothing got worse; 1 a confirmed regression, or a cell that vanished or diverged, tonight or in\n"
      "an open alert; 2 an acknowledged alert, a shift that could be neither confirmed nor refuted, a change of the\n"
      "machine, a control that did not run, or a cell that is NOT TESTED: its first night, too few nights and the\n"
      "same engine as before, or no earlier engine that can be run;\n"
      "3 wrong input; 4 failed or cancelled.");
  command->callback([options, &context] { context.exit_code = nightly(*options, context); });
}

}  // namespace perfbench::harness
