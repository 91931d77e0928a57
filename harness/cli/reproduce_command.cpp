// perfbench reproduce: executes a recorded run once more and holds the two against each other.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/attempt_folder.h"
#include "harness/cli/checked_option.h"
#include "harness/cli/commands.h"
#include "harness/cli/execution_options.h"
#include "harness/compare/reproduction.h"
#include "harness/input_error.h"
#include "harness/run/interruption.h"
#include "harness/run/run_directory.h"
#include "harness/run/sweep.h"
#include "harness/store/database.h"
#include "harness/store/ingest.h"
#include "reports/format/number.h"
#include "reports/format/print.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

struct ReproduceOptions {
  fs::path recorded;
  fs::path runs;  // empty: where the recorded run is
  fs::path db;    // empty: the new attempt is in no database
  ExecutionOptions execution;
};

RunEvidence evidence_of(const fs::path& attempt) {
  auto evidence = read_run_directory(attempt);
  if (!evidence) throw InputError(fmt::format("[reproduce] {}: the attempt was cut off", attempt.string()));
  return *std::move(evidence);
}

Cell cell_of(const RunEvidence& recorded) {
  return {.matrix = recorded.attempt.matrix,
          .axes = {recorded.attempt.axes.begin(), recorded.attempt.axes.end()},
          .label = recorded.attempt.cell,
          .run = recorded.run,
          .run_id = recorded.attempt.run_id};
}

void print(const Reproduction& found) {
  reports::print("state      {} -> {}\n", spec::enum_name(found.recorded_state), spec::enum_name(found.repeated_state));
  reports::print("numbers    ");
  if (const auto& d = found.first_difference) {
    reports::print("{} of step {} on rank {} differs: {} -> {}\n", d->number, d->step, d->rank, d->recorded,
                   d->repeated);
  } else if (found.recorded_steps + found.repeated_steps == 0) {
    reports::print("none: no step was recorded\n");
  } else {
    reports::print("loss, gradient norm and peak memory of {} step records are equal bit by bit\n",
                   std::min(found.recorded_steps, found.repeated_steps));
  }
  if (found.recorded_steps != found.repeated_steps) {
    reports::print("           {} -> {} step records\n", found.recorded_steps, found.repeated_steps);
  }
  if (found.recorded_step_time_s && found.repeated_step_time_s) {
    reports::print("step time  {} s -> {} s ({}); two attempts decide nothing about speed\n",
                   reports::format_number(found.recorded_step_time_s),
                   reports::format_number(found.repeated_step_time_s),
                   reports::format_percent_change(*found.repeated_step_time_s / *found.recorded_step_time_s));
  }
  if (found.environment.empty()) reports::print("environment  the same\n");
  for (const auto& d : found.environment) reports::print("environment  {}: {} -> {}\n", d.field, d.left, d.right);
  reports::print("\n{}\n", found.reproduced() ? "reproduced" : "NOT reproduced");
}

ExitCode reproduce(const ReproduceOptions& options, const CommandContext& context) {
  const auto folder = attempt_folder(options.recorded, "reproduce");
  const auto recorded = evidence_of(folder);
  if (recorded.attempt.state == AttemptState::excluded || recorded.attempt.state == AttemptState::infeasible) {
    throw InputError(fmt::format("[reproduce] {}: {} ({}): it was never executed", folder.string(),
                                 spec::enum_name(recorded.attempt.state), recorded.attempt.reason));
  }
  const SweepHooks hooks{
      .plan = [](const Cell&) { return CellPlan{}; },
      .store =
          [&options](const fs::path& attempt) {
            if (options.db.empty()) return std::string();
            auto db = open_database(options.db);
            const auto outcome = ingest_run_directory(db, attempt);
            return outcome.spoiled ? outcome.damage : std::string();
          },
      .stored = [](const std::string&, const std::string&, AttemptState) { return std::int64_t{0}; }};
  auto settings = execution_settings(options.execution, SweepKind::reproduction,
                                     options.runs.empty() ? folder.parent_path().parent_path() : options.runs, context);
  // With the threads that the run had: other sums give other bits.
  if (recorded.environment) {
    settings.launcher.cores = recorded.environment->threads_per_rank * recorded.environment->ranks;
  }
  Interruption interruption;
  const auto summary = run_sweep({cell_of(recorded)}, {.execution = settings}, hooks, interruption);
  if (summary.cancelled || summary.attempts.empty()) {
    reports::print("cancelled\n");
    return ExitCode::failure;
  }
  const auto& repeated = summary.attempts.front().directory;
  reports::print("recorded   {}\nrepeated   {}\n", folder.string(), repeated.string());
  const auto found = hold_against(recorded, evidence_of(repeated));
  print(found);
  if (!summary.store_error.empty()) {
    reports::print(stderr, "{}\n", summary.store_error);
    return ExitCode::failure;
  }
  return found.reproduced() ? ExitCode::fine : ExitCode::regression;
}

}  // namespace

void add_reproduce(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("reproduce", "Executes a recorded run once more: are its numbers the same?");
  auto options = std::make_shared<ReproduceOptions>();
  add_path(*command, "RUN", options->recorded, PathIs::folder, "folder of an attempt, or of a run: its newest attempt")
      ->required();
  add_path(*command, "--runs", options->runs, PathIs::folder,
           "folder of the new run directory; beside the recorded one unless given");
  add_path(*command, "--db", options->db, PathIs::database,
           "database that takes the new attempt in; none unless given");
  add_execution_options(*command, options->execution);
  command->footer(
      "The same seed gives the same loss, gradient norm and peak memory, bit by bit, on the same build and number of\n"
      "threads; facts of the environment that differ are listed. Times are shown, not judged: that is `compare`.\n"
      "Example:\n"
      "  perfbench reproduce perf.runs/1f6c0d2ab3e94d57/001\n"
      "Exit codes: 0 reproduced; 1 not; 3 no such run; 4 cancelled, or not recorded.");
  command->callback([options, &context] { context.exit_code = reproduce(*options, context); });
}

}  // namespace perfbench::harness
