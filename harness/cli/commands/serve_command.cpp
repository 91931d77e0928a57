// perfbench serve: a database in a browser.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/execute/interruption.h"
#include "harness/serve/server.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

constexpr double kMillisecond = 1e-3;
constexpr double kMebibyte = 1 << 20;
constexpr double kMostPushMib = 10 * 1024;

}  // namespace

void add_serve(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("serve", "Shows a database in a browser, also while a sweep writes to it");
  auto options = std::make_shared<ServerOptions>();
  options->db = "perf.db";
  add_db_option(*command, options->db, "database");
  add_number(*command, "--port", options->port, Bounds<int>{0, 65'535}, "port to listen at; 0: any free port")
      ->capture_default_str();
  command
      ->add_option("--address", options->address,
                   "numeric address to listen at; everybody who can reach it can read the pages")
      ->capture_default_str();
  add_amount(
      *command, "--patience", duration_such_as("150ms, 2s or 1min"), {.factor = kMillisecond, .name = "ms"},
      {.bounds = {0, 600}, .shown_bounds = "up to 10min"},
      [options](double seconds) { options->patience_ms = static_cast<int>(std::lround(seconds / kMillisecond)); },
      "how long a request for a page may take; then the answer is the previous version, or a page that announces it")
      ->default_str(fmt::format("{}ms", options->patience_ms));
  command->add_flag("--write", options->write,
                    "allow alerts to be acknowledged and closed, from the printed address, which contains a token");
  add_author_option(*command, options->author);
  add_path(
      *command, "--accept", options->accept, PathIs::file,
      "take runs of `perfbench push` from the machines whose keys this file has, a line each; the database is made "
      "if there is none");
  add_amount(
      *command, "--accept-limit", kSize, {.factor = kMebibyte, .name = "MiB"},
      {.bounds = {kMebibyte, kMostPushMib * kMebibyte}, .shown_bounds = "from 1MiB to 10GiB"},
      [options](double bytes) {
        options->push.most_bytes = static_cast<std::int64_t>(bytes);
        options->push.most_waiting_bytes = 4 * options->push.most_bytes;
      },
      "largest file of a push; a machine may have four times as much waiting for the database")
      ->default_str("64MiB");
  command->footer(
      "Shows the overview, report, runs, one run, two runs, history and alerts like the commands of these names. New "
      "results\n"
      "of a sweep or a night appear without reloading. The database is only written to with --write and --accept.\n"
      "Examples:\n"
      "  perfbench serve --db perf.db\n"
      "  perfbench serve --db nightly.db --port 8200 --write\n"
      "  perfbench serve --db team.db --accept machines.keys\n"
      "  ssh -L 8123:127.0.0.1:8123 machine      then http://127.0.0.1:8123/ here shows that machine's\n"
      "Exit codes: 0 ended by Ctrl-C; 3 no such database, or it cannot listen there.");
  command->callback([options, &context] {
    Interruption interruption;  // before any thread, so that all of them inherit its mask
    serve(*options, context, interruption.fd(), [](const std::string& url) {
      reports::print("serving {}\n", url);
      std::fflush(stdout);
    });
    context.exit_code = ExitCode::fine;
  });
}

}  // namespace perfbench::harness
