// perfbench completion: what a shell needs to complete words, from the declarations of all commands.
#include <CLI/CLI.hpp>
#include <array>
#include <memory>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/completion.h"
#include "harness/cli/shell/options.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
enum class Shell { bash };
}

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Shell> {
  static constexpr std::array kNames{std::pair{perfbench::harness::Shell::bash, "bash"}};
};

namespace perfbench::harness {

void add_completion(CLI::App& app, CommandContext& /*context*/) {
  auto* command = app.add_subcommand("completion", "A script for the completion of perfbench's words in a shell");
  auto shell = std::make_shared<Shell>(Shell::bash);
  add_enum_option(*command, "SHELL", *shell, "the shell that reads it")->default_str("")->required();
  command->footer(
      "Examples:\n"
      "  source <(perfbench completion bash)\n"
      "  perfbench completion bash > ~/.local/share/bash-completion/completions/perfbench\n"
      "Exit codes: 0 success; 3 no such shell.");
  command->callback([shell, &app] { reports::print_text(stdout, bash_completion(app)); });
}

}  // namespace perfbench::harness
