// perfbench completion and perfbench man: scripts for shells and pages for man(1), from the declarations of all
// commands.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/command_tree.h"
#include "harness/cli/shell/completion.h"
#include "harness/cli/shell/man_page.h"
#include "harness/cli/shell/options.h"
#include "harness/evidence/output_file.h"
#include "reports/render/format/print.h"
#include "workloads/build_info/build_info.h"

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Shell> {
  using S = perfbench::harness::Shell;
  static constexpr std::array kNames{std::pair{S::bash, "bash"}, std::pair{S::zsh, "zsh"}, std::pair{S::fish, "fish"}};
};

namespace perfbench::harness {
namespace {

struct ManOptions {
  std::vector<std::string> words;  // of the command; empty: perfbench itself
  std::filesystem::path output;    // empty: print one
};

std::string page_of(const CLI::App& command) {
  return man_page(command, std::string(build_info::current().version));
}

void write_pages(const CLI::App& root, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto* command : whole_tree(root)) {
    write_output(folder / (man_page_name(*command) + ".1"), page_of(*command));
  }
}

}  // namespace

void add_completion(CLI::App& app, CommandContext& /*context*/) {
  auto* command = app.add_subcommand("completion", "A script for the completion of perfbench's words in a shell");
  auto shell = std::make_shared<Shell>(Shell::bash);
  add_enum_option(*command, "SHELL", *shell, "the shell that reads it")->default_str("")->required();
  command->footer(
      "Examples:\n"
      "  source <(perfbench completion bash)\n"
      "  perfbench completion bash > ~/.local/share/bash-completion/completions/perfbench\n"
      "  perfbench completion zsh > ~/.zfunc/_perfbench\n"
      "  perfbench completion fish > ~/.config/fish/completions/perfbench.fish\n"
      "Exit codes: 0 success; 3 no such shell.");
  command->callback([shell, &app] { reports::print_text(stdout, completion_script(app, *shell)); });
}

void add_man(CLI::App& app, CommandContext& /*context*/) {
  auto* command = app.add_subcommand("man", "The manual page of perfbench, or of one of its commands");
  auto options = std::make_shared<ManOptions>();
  auto* words = command->add_option("COMMAND", options->words, "words of the command; default: perfbench itself");
  add_path(*command, "--output", options->output, PathIs::folder, "folder for files with all pages")->excludes(words);
  command->footer(
      "Examples:\n"
      "  perfbench man | man -l -\n"
      "  perfbench man alerts list > perfbench-alerts-list.1\n"
      "  perfbench man --output ~/.local/share/man/man1\n"
      "Exit codes: 0 success; 3 no such command; 4 the pages cannot be written.");
  command->callback([options, &app] {
    if (!options->output.empty()) return write_pages(app, options->output);
    reports::print_text(stdout, page_of(named_command(app, options->words, "man")));
  });
}

}  // namespace perfbench::harness
