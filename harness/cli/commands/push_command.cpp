// perfbench push: sends runs to a server.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/app/push.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/options.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/execute/interruption.h"
#include "harness/launch/site.h"
#include "harness/system/input_error.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

struct PushOptions {
  PushRuns push;
  std::string selection = "all";
  std::filesystem::path key;
  std::string new_key;
};

std::filesystem::path default_key_file() {
  return config_folder().value_or("./.config/perfbench") / "push.key";
}

MachineKey key_of(const std::filesystem::path& named) {
  const auto file = named.empty() ? default_key_file() : named;
  const auto keys = read_machine_keys(file);
  if (keys.size() > 1) {
    throw InputError("[push] " + file.string() + " has the keys of several machines; give this one a file of its own");
  }
  return keys.front();
}

ExitCode push(PushOptions& options) {
  if (!options.new_key.empty()) {
    const auto file = options.key.empty() ? default_key_file() : options.key;
    const auto line = new_machine_key_line(options.new_key);
    write_key_file(file, line);
    reports::print(stderr, "written to {}; the server's file of keys needs this line:\n", file.string());
    reports::print("{}\n", line);
    return ExitCode::fine;
  }
  if (options.push.url.empty()) throw InputError("[push] name the server: perfbench push https://perf.example.com");
  options.push.key = key_of(options.key);
  options.push.selection = parse_selection(options.selection);
  options.push.say = [](const std::string& line) { reports::print(stderr, "{}\n", line); };
  Interruption interruption;
  const auto report = push_runs(options.push, interruption.fd());
  for (const auto& refused : report.refused) reports::print(stderr, "refused: {}\n", refused);
  for (const auto& left_out : report.left_out) reports::print(stderr, "note: left out, {}\n", left_out);
  reports::print("{} files sent, {} already there; {} attempts added, {} already there\n", report.files, report.known,
                 report.added, report.present);
  if (report.cancelled) reports::print(stderr, "cancelled; the next push continues\n");
  if (report.cancelled) return ExitCode::failure;
  return report.refused.empty() && report.left_out.empty() ? ExitCode::fine : ExitCode::usage;
}

}  // namespace

void add_push(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("push", "Sends runs to a server that gathers those of many machines");
  auto options = std::make_shared<PushOptions>();
  options->push.db = "perf.db";
  command->add_option("URL", options->push.url, "server of `perfbench serve --accept`");
  add_db_option(*command, options->push.db, "database");
  command->add_option("--select", options->selection, "latest, all, a sweep's id, run:ID or attempt:ID/N")
      ->check(selection_complaint)
      ->capture_default_str();
  add_path(*command, "--key", options->key, PathIs::file,
           "file with this machine's key, a line of the server's file; default: ~/.config/perfbench/push.key");
  command
      ->add_option("--new-key", options->new_key,
                   "make the file with a new key for this machine, print its line for the server, and send nothing")
      ->type_name("MACHINE");
  command->footer(
      "A file is sent for each sweep. The server says which ones it has, and how much of an unfinished one, so that a\n"
      "push can be repeated at any time. Runs are checked as by `perfbench import`.\n"
      "Examples:\n"
      "  perfbench push --new-key node7\n"
      "  perfbench push https://perf.example.com --db nightly.db\n"
      "  perfbench push http://127.0.0.1:8123 --db nightly.db --select latest --key push.key\n"
      "Exit codes: 0 success; 3 wrong input, or something was refused or cannot be read; 4 cancelled.");
  command->callback([options, &context] { context.exit_code = push(*options); });
}

}  // namespace perfbench::harness
