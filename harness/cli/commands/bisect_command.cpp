// perfbench bisect: finds the commit that made a cell slower. Each step is a comparison in pairs with the good commit.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/app/pairs/bisect_commits.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/shell/shared_options.h"
#include "harness/cli/shell/value_checks.h"
#include "harness/execute/interruption.h"
#include "harness/pairs/git_history.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

void print_step(const BisectStep& step) {
  reports::print("{:<7} {} {}  ({})\n", spec::enum_name(step.outcome), short_commit(step.commit), step.subject,
                 step.detail);
}

ExitCode print_bisection_end(const BisectRequest& request, const BisectOutcome& outcome) {
  switch (outcome.end) {
    case BisectEnd::found:
      reports::print("\nfirst bad commit: {} {}\n", outcome.suspects.front().commit, outcome.suspects.front().subject);
      return ExitCode::regression;
    case BisectEnd::several:
      reports::print("\nthe first bad commit is one of these, which cannot be distinguished:\n");
      for (const auto& suspect : outcome.suspects) reports::print("  {} {}\n", suspect.commit, suspect.subject);
      return ExitCode::inconclusive;
    case BisectEnd::nothing_to_find:
      reports::print("\n{} is no slower than {}: there is nothing to find\n", request.bad, request.good);
      return ExitCode::fine;
    case BisectEnd::undecided:
      break;
  }
  reports::print("\nwhether {} is slower than {} could not be decided: use more --pairs, or a quieter machine\n",
                 request.bad, request.good);
  return ExitCode::inconclusive;
}

ExitCode bisect(const BisectRequest& request, const CommandContext& context) {
  Interruption interruption;
  return print_bisection_end(request, bisect_commits(request, context, interruption, print_step));
}

constexpr const char* kStepGroup = "Pairs of each step";

}  // namespace

void add_bisect(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("bisect", "Finds the commit between a good and a bad one that made it slower");
  auto options = std::make_shared<BisectRequest>();
  command->add_option("GOOD", options->good, "revision that is fast enough")->required();
  command->add_option("BAD", options->bad, "revision that is too slow, with GOOD among its first-parent ancestors")
      ->required();
  add_matrix_options(*command, options->ab.matrix);
  add_program_options(*command, options->ab.matrix.program);
  add_db_option(*command, options->ab.db, "database; created if it does not exist");
  command->add_option("--metric", options->metric, "metric of the catalog that got worse")
      ->type_name("METRIC")
      ->check(metric_complaint)
      ->capture_default_str();
  add_execution_options(*command, options->ab.execution);
  add_ab_options(*command, options->ab, kStepGroup);
  command->remove_option(command->get_option("--metrics"));
  command->footer(
      "Example:\n"
      "  perfbench bisect v1.2 HEAD matrices/quickstart.yaml --only model=gpt-mini --pairs 8\n"
      "BAD is compared with GOOD first; the steps then run only the cells that regressed. A commit that cannot be "
      "built\n"
      "or decided is skipped.\n"
      "Exit codes: 1 the first bad commit was found; 0 BAD is not worse than GOOD; 2 several commits cannot be\n"
      "distinguished, or BAD cannot be decided; 3 wrong input; 4 GOOD or BAD cannot be built, or cancelled.");
  command->callback([options, &context] { context.exit_code = bisect(*options, context); });
}

}  // namespace perfbench::harness
