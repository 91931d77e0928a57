// The subcommands. Each add_* declares one with its options and help. If it is the chosen one, its callback stores the
// exit code in `context`.
#pragma once

#include "harness/app/installation.h"
#include "harness/cli/shell/exit_code.h"

namespace CLI {
class App;
}

namespace perfbench::harness {

struct CommandContext : Installation {
  ExitCode exit_code = ExitCode::fine;
};

void add_plan(CLI::App& app, CommandContext& context);
void add_predict(CLI::App& app, CommandContext& context);
void add_run(CLI::App& app, CommandContext& context);
void add_sweep(CLI::App& app, CommandContext& context);
void add_ingest(CLI::App& app, CommandContext& context);
void add_export(CLI::App& app, CommandContext& context);
void add_import(CLI::App& app, CommandContext& context);
void add_report(CLI::App& app, CommandContext& context);
void add_baseline(CLI::App& app, CommandContext& context);
void add_nightly(CLI::App& app, CommandContext& context);
void add_compare(CLI::App& app, CommandContext& context);
void add_bisect(CLI::App& app, CommandContext& context);
void add_reproduce(CLI::App& app, CommandContext& context);
void add_alerts(CLI::App& app, CommandContext& context);
void add_history(CLI::App& app, CommandContext& context);
void add_selftest(CLI::App& app, CommandContext& context);
void add_doctor(CLI::App& app, CommandContext& context);
void add_trace(CLI::App& app, CommandContext& context);
void add_schema(CLI::App& app, CommandContext& context);
void add_data(CLI::App& app, CommandContext& context);
void add_completion(CLI::App& app, CommandContext& context);
void add_help(CLI::App& app, CommandContext& context);
void add_list(CLI::App& app, CommandContext& context);
void add_show(CLI::App& app, CommandContext& context);
void add_diff(CLI::App& app, CommandContext& context);
void add_tag(CLI::App& app, CommandContext& context);
void add_note(CLI::App& app, CommandContext& context);
void add_prune(CLI::App& app, CommandContext& context);
void add_weights(CLI::App& app, CommandContext& context);
void add_serve(CLI::App& app, CommandContext& context);
void add_backup(CLI::App& app, CommandContext& context);
void add_restore(CLI::App& app, CommandContext& context);
void add_push(CLI::App& app, CommandContext& context);
void add_launch(CLI::App& app, CommandContext& context);
void add_worker(CLI::App& app, CommandContext& context);
void add_adapt(CLI::App& app, CommandContext& context);

}  // namespace perfbench::harness
