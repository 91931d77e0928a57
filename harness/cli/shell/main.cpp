// The composition root: builds the command line, runs one command, and turns every error into one line and an exit
// code.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/command_line_error.h"
#include "harness/execute/attempt_execution.h"
#include "harness/system/input_error.h"
#include "harness/system/parallel_ranges.h"
#include "reports/render/format/print.h"
#include "workloads/build_info/build_info.h"

namespace {

using perfbench::harness::CommandContext;
using perfbench::harness::ExitCode;

int code(ExitCode value) {
  return static_cast<int>(value);
}

// Makes writing to a reader that has left, or beyond a limit on file sizes, an ordinary error that does not end a sweep
// halfway (commands that are started have the default behaviour: warden.cpp). Also prevents a file from getting the
// number of a standard stream that was closed, and with it the output of that stream. Such a stream is opened for
// reading only, so that writing to it fails.
void keep_standard_streams_apart() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDONLY);  // the lowest free number, which is this one
  }
}

// "0.1.0 (commit 1f6c0d2ab3e9)"
std::string version_text() {
  constexpr std::size_t kShownDigits = 12;
  const auto built = perfbench::build_info::current();
  return fmt::format("{} (commit {}{})", built.version, built.git_commit.substr(0, kShownDigits),
                     built.git_dirty ? ", changed" : "");
}

void complain(const char* what, const char* why) {
  perfbench::reports::print_text(stderr, std::string(what) + why + "\n");
}

// Prints the help, or the error in the command line.
ExitCode say(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) {
    complain("", perfbench::harness::command_line_error(app, error).c_str());
    return ExitCode::usage;
  }
  std::ostringstream out;
  app.exit(error, out, out);
  perfbench::reports::print_text(stdout, out.str());
  return ExitCode::fine;
}

struct CommandGroup {
  const char* name;  // a heading of the help
  std::vector<void (*)(CLI::App& app, CommandContext& context)> commands;
};

// In the order of the help.
std::vector<CommandGroup> command_groups() {
  using namespace perfbench::harness;
  return {
      {"Measure", {add_sweep, add_run, add_plan, add_predict, add_launch, add_reproduce, add_doctor}},
      {"Read", {add_report, add_list, add_show, add_diff, add_trace, add_serve, add_tag, add_note}},
      {"Compare", {add_compare, add_baseline, add_bisect, add_selftest}},
      {"Nightly", {add_nightly, add_history, add_alerts}},
      {"Data",
       {add_data, add_weights, add_adapt, add_ingest, add_export, add_import, add_push, add_backup, add_restore,
        add_prune}},
      {"Admin", {add_worker, add_schema, add_completion, add_help}},
  };
}

void add_commands(CLI::App& app, CommandContext& context) {
  for (const auto& group : command_groups()) {
    for (const auto add : group.commands) {
      add(app, context);
      app.get_subcommands([](const CLI::App*) { return true; }).back()->group(group.name);
    }
  }
}

// The help of `perfbench` without arguments.
constexpr const char* kWorkflow =
    "perfbench plan matrices/quickstart.yaml      what each cell would need, without running it\n"
    "perfbench sweep matrices/quickstart.yaml     runs every cell and records it in perf.db\n"
    "perfbench report                             the newest sweep as a table\n"
    "perfbench compare --ab HEAD~1 HEAD FILE      whether a change made it slower\n"
    "perfbench help [COMMAND]                     all commands, or everything about one\n";

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams_apart();
  CommandContext context;
  CLI::App app{"perfbench: measures LLM training and says whether it got slower, by how much, and why", "perfbench"};
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  perfbench sweep matrices/quickstart.yaml\n"
      "  perfbench plan matrices/llama.yaml\n"
      "  perfbench report --db perf.db --format markdown\n"
      "The environment variable PERFBENCH_DB names the database of every command without --db.\n"
      "Exit codes: 0 success or no regression, 1 regression, 2 inconclusive, 3 usage or input error, 4 failure.");
  try {
    context.engine = perfbench::harness::locate_engine();
    add_commands(app, context);
    if (argc == 1) {
      perfbench::reports::print_text(stdout, kWorkflow);
      return code(ExitCode::usage);  // a script that calls it without a command has not measured anything
    }
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (const auto said = say(app, e); said != ExitCode::fine) return code(said);
  } catch (const perfbench::harness::InputError& e) {
    complain("", e.what());
    return code(ExitCode::usage);
  } catch (const perfbench::harness::Cancelled& e) {
    complain("", e.what());
    return code(ExitCode::failure);
  } catch (const perfbench::harness::RemoteEnd& e) {
    complain("", e.what());
    return code(ExitCode::failure);
  } catch (const std::exception& e) {
    complain("perfbench failed: ", e.what());
    return code(ExitCode::failure);
  }
  // A reader that left, such as `head`, got what it wanted.
  if (const int error = perfbench::reports::standard_output_error(); error != 0 && error != EPIPE) {
    complain("perfbench failed: cannot write to standard output: ", std::strerror(error));
    return code(ExitCode::failure);
  }
  return code(context.exit_code);
}
