// perfbench run: measures one training program without a matrix.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/app/sweep/program_matrix.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/commands/sweep_output.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/reading_options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/execute/interruption.h"
#include "harness/matrix/run_keys.h"

namespace perfbench::harness {
namespace {

constexpr std::int64_t kUsualRepeats = 5;

void add_container_options(CLI::App& command, spec::ProgramContainer& container) {
  const auto complaint = [](const std::string& name) {
    return name.empty() || name.starts_with('-') ? "an image has a name, such as localhost/trainer:2" : "";
  };
  auto* image = command.add_option("--image", container.image, "run the command in a container of this image")
                    ->type_name("NAME")
                    ->check(CLI::Validator(complaint, ""));
  add_enum_option(command, "--runtime", container.runtime, "program that runs the container")->needs(image);
  command
      .add_option("--container-option", container.options,
                  "a further option of the runtime's command 'run', such as --container-option=--network=host; may be "
                  "repeated")
      ->type_name("WORD")
      ->allow_extra_args(false)
      ->needs(image);
}

struct RunOptions {
  ProgramWords words{.command = {}, .repeats = kUsualRepeats};
  ReadingOptions reading;
  SweepRequest request;
};

ExitCode run_program(RunOptions& options, const CommandContext& context) {
  add_reading(options.reading, options.words);
  options.request.matrix.text = program_matrix(options.words);
  Interruption interruption;  // before any thread, so that all of them inherit its mask
  SweepStore store(options.request.db);
  return print_sweep(sweep_matrix(options.request, context, store, interruption), options.request, store, context);
}

}  // namespace

void add_run(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("run", "Measures one training program of any kind, without a matrix");
  auto options = std::make_shared<RunOptions>();
  command->add_option("COMMAND", options->words.command, "the program and its arguments, after --")
      ->required()
      ->type_name("WORD ...");
  add_number(*command, "--repeats", options->words.repeats, Bounds<std::int64_t>{1, kMostRepeats},
             "how often the program is run");
  add_reading_options(*command, options->reading, "--metric");
  add_container_options(*command, options->words.container);
  command->add_option("--name", options->words.name, "name of the cell; default: the program's");
  add_db_option(*command, options->request.db, "database; created if it does not exist");
  add_path(*command, "--runs", options->request.runs, PathIs::folder,
           "folder of the run directories; default: beside the database");
  add_execution_options(*command, options->request.execution);
  command->footer(
      "Without --reader and --metric it measures wall time and memory. {run_dir}, {cwd} and {python} in a word of the\n"
      "command stand for the folder of the attempt, the current folder and an interpreter.\n"
      "Examples:\n"
      "  perfbench run --reader nanogpt -- python3 train.py --max_iters=60\n"
      "  perfbench run --metric 'step_time_s=took (?P<value>[0-9.]+) ms:ms' -- ./train --steps 40\n"
      "  perfbench run --reader hf_trainer --work model=gpt2 --work seq_len=1024 --work global_batch=8 -- python3 "
      "run.py\n"
      "  perfbench run --image localhost/trainer:2 --container-option=--device=nvidia.com/gpu=all -- python3 train.py\n"
      "Exit codes: 0 every attempt is ok; 3 wrong input; 4 an attempt failed, or was cancelled.");
  command->callback([options, &context] { context.exit_code = run_program(*options, context); });
}

}  // namespace perfbench::harness
