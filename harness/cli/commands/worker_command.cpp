// perfbench worker: executes the tasks of a session inside its job.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/app/session_worker.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/execute/interruption.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

ExitCode work(const std::filesystem::path& folder, const Installation& installation) {
  Interruption interruption;
  switch (work_on_session(folder, installation, interruption)) {
    case WorkerEnd::complete:
      return ExitCode::fine;
    case WorkerEnd::cancelled:
      reports::print(stderr, "[worker] cancelled\n");
      return ExitCode::failure;
    case WorkerEnd::abandoned:
      break;
  }
  reports::print(stderr, "[worker] nobody has given this job a task for two minutes\n");
  return ExitCode::failure;
}

}  // namespace

void add_worker(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("worker", "Executes the attempts of a session; a launcher starts it in a job");
  auto folder = std::make_shared<std::filesystem::path>();
  add_path(*command, "SESSION", *folder, PathIs::folder, "folder of the session, below that of the run directories")
      ->required();
  command->footer(
      "`perfbench sweep FILE --launcher slurm` submits a job that runs this command. It needs no database.\n"
      "Example:\n"
      "  perfbench worker perf.runs/sessions/pb-20260131T120000Z-3f09ac12d4-1\n"
      "Exit codes: 0 all tasks are done; 3 wrong input; 4 cancelled, or given no task for two minutes.");
  command->callback([folder, &context] { context.exit_code = work(*folder, context); });
}

}  // namespace perfbench::harness
