// perfbench sweep: runs every cell of a matrix, records it, prints the table.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/app/sweep/sweep_matrix.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/sweep_output.h"
#include "harness/cli/shell/listed_values.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/execute/interruption.h"
#include "harness/matrix/run_keys.h"
#include "reports/content/plan_document.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

constexpr std::int64_t kMostJobs = 1000;

struct SweepArguments {
  SweepRequest request;
  bool keep_going = false;
  bool fail_fast = false;
  bool dry_run = false;
};

ExitCode print_sweep_plan(const SweepRequest& request, const Installation& installation) {
  const auto planned = plan_sweep(request, installation);
  print_document(reports::plan_document(planned.matrix, planned.cells), reports::DocumentFormat::text,
                 {.width = {}, .full = !reports::is_terminal(stdout)});
  return ExitCode::fine;
}

ExitCode sweep(SweepArguments& args, const CommandContext& context) {
  args.request.on_failure = args.fail_fast ? OnFailure::stop : OnFailure::keep_going;
  if (args.dry_run) return print_sweep_plan(args.request, context);
  Interruption interruption;  // before any thread, so that all of them inherit its mask
  SweepStore store(args.request.db);
  return print_sweep(sweep_matrix(args.request, context, store, interruption), args.request, store, context);
}

}  // namespace

void add_sweep(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("sweep", "Runs every cell of a matrix, records it and prints the table");
  auto args = std::make_shared<SweepArguments>();
  add_matrix_options(*command, args->request.matrix);
  add_program_options(*command, args->request.matrix.program);
  add_db_option(*command, args->request.db, "database; created if it does not exist");
  add_path(*command, "--runs", args->request.runs, PathIs::folder,
           "folder of the run directories; default: beside the database");
  command->add_flag("--resume", args->request.resume,
                    "finish the newest sweep of this matrix, with its engine, program, --only, --set and --repeats");
  add_execution_options(*command, args->request.execution);
  add_launch_options(*command, args->request.execution.launch);
  add_number(*command, "--jobs", args->request.execution.launch.jobs, Bounds<std::int64_t>{1, kMostJobs},
             "jobs of the launcher at once; all attempts of a cell run in the same one")
      ->needs("--launcher");
  add_number(*command, "--repeats", args->request.repeats, Bounds<std::int64_t>{1, kMostRepeats},
             "attempts of every cell, instead of the matrix's");
  add_name_option(
      *command, "--device", names_of_enum<spec::Device>(),
      [args](const std::string& name) { args->request.device = name; }, "cpu or cuda, for every cell");
  auto* going = command->add_flag("--keep-going", args->keep_going, "a failed cell does not end the sweep (default)");
  command->add_flag("--fail-fast", args->fail_fast, "the first failed cell ends the sweep")->excludes(going);
  command->add_flag("--dry-run", args->dry_run, "print the plan and stop");
  command->footer(
      "Examples:\n"
      "  perfbench sweep matrices/quickstart.yaml\n"
      "  perfbench sweep matrices/llama.yaml --db llama.db --only model=llama-tiny --set steps=20\n"
      "  perfbench sweep matrices/llama.yaml --db llama.db --resume\n"
      "  perfbench sweep matrices/maxtext.yaml --program maxtext\n"
      "  perfbench sweep matrices/llama.yaml --launcher slurm:gpu --launch-option=--gres=gpu:8 --jobs 4\n"
      "--resume restores --only, --set, --device, --repeats, --program and --program-repo of the sweep; others than\n"
      "those are refused.\n"
      "A cell whose loss became NaN or infinite is recorded as diverged, with the first such step, and has no speed.\n"
      "Exit codes: 0 every cell is ok, or known not to run; 3 wrong input, or a row of the database cannot be read;\n"
      "4 a cell failed (crashed, diverged, timed out, out of memory, quarantined), an attempt is not in the database,\n"
      "or the sweep was cancelled.");
  command->callback([args, &context] { context.exit_code = sweep(*args, context); });
}

}  // namespace perfbench::harness
