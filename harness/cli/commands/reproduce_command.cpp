// perfbench reproduce: executes a recorded run once more and compares the two.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "harness/app/runs/reproduction.h"
#include "harness/app/runs/run_name.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/execute/interruption.h"
#include "reports/render/format/number.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

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

ExitCode reproduce(const ReproduceRequest& request, const CommandContext& context) {
  Interruption interruption;
  const auto outcome = reproduce_run(request, context, interruption);
  if (outcome.cancelled) {
    reports::print("cancelled\n");
    return ExitCode::failure;
  }
  reports::print("recorded   {}\nrepeated   {}\n", outcome.recorded.string(), outcome.repeated.string());
  for (const auto& fault : outcome.faults) reports::print("injected   {}, into both\n", fault);
  print(outcome.found);
  if (!outcome.store_error.empty()) {
    reports::print(stderr, "{}\n", outcome.store_error);
    return ExitCode::failure;
  }
  return outcome.found.reproduced() ? ExitCode::fine : ExitCode::regression;
}

}  // namespace

void add_reproduce(CLI::App& app, CommandContext& context) {
  auto* command =
      app.add_subcommand("reproduce", "Executes a recorded run once more, and checks whether its numbers repeat");
  auto options = std::make_shared<ReproduceRequest>();
  command
      ->add_option("RUN", options->recorded,
                   std::string("folder of an attempt, or of a run: its newest attempt; or ") + kRunNameHelp)
      ->type_name(kRunNameType)
      ->required();
  add_path(*command, "--runs", options->runs, PathIs::folder,
           "folder of the new run directory; default: beside the recorded one");
  add_db_option(*command, options->db,
                "database for the new attempt, default: none; names are looked up in it, or in perf.db");
  add_execution_options(*command, options->execution);
  command->footer(
      "The same seed gives the same loss, gradient norm and peak memory, bit by bit, on the same build and number of\n"
      "threads; differences in the environment are listed. Faults that were injected into the run are injected\n"
      "again. Times are shown, not judged: use `compare` for that.\n"
      "Examples:\n"
      "  perfbench reproduce perf.runs/1f6c0d2ab3e94d57/001\n"
      "  perfbench reproduce before-fix --db perf.db\n"
      "Exit codes: 0 reproduced; 1 not reproduced; 3 no such run; 4 cancelled, or not recorded.");
  command->callback([options, &context] { context.exit_code = reproduce(*options, context); });
}

}  // namespace perfbench::harness
