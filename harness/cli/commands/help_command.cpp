// perfbench help: prints the --help of the command with these words.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/command_tree.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {

void add_help(CLI::App& app, CommandContext& /*context*/) {
  auto* command = app.add_subcommand("help", "The help of perfbench, or of one of its commands");
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "words of the command; default: perfbench itself");
  command->footer(
      "Examples:\n"
      "  perfbench help sweep\n"
      "  perfbench help alerts list\n"
      "Exit codes: 0 success; 3 no such command.");
  command->callback([words, &app] { reports::print_text(stdout, help_of(named_command(app, *words))); });
}

}  // namespace perfbench::harness
