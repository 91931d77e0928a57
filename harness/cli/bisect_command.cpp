// perfbench bisect: which commit made it slower. Each step is a comparison in pairs against the good commit.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "harness/ab/bisection.h"
#include "harness/ab/bisection_ledger.h"
#include "harness/ab/engine_build.h"
#include "harness/cancelled.h"
#include "harness/cli/ab_comparison.h"
#include "harness/cli/checked_option.h"
#include "harness/cli/commands.h"
#include "harness/input_error.h"
#include "harness/run/interruption.h"
#include "harness/store/database.h"
#include "reports/format/print.h"

namespace perfbench::harness {
namespace {

struct BisectOptions {
  std::string good;
  std::string bad;
  std::string metric = "step_time_s";
  AbOptions ab;
};

// What a comparison against the good commit says of a commit.
struct Look {
  StepOutcome outcome = StepOutcome::skipped;
  std::string detail;
};

const MetricVerdict* find_metric_verdict(const CellVerdict& cell, const std::string& metric) {
  const auto found = std::find_if(cell.metrics.begin(), cell.metrics.end(),
                                  [&metric](const auto& verdict) { return verdict.rule.metric == metric; });
  return found == cell.metrics.end() ? nullptr : &*found;
}

std::string change_text(const Decision& decision) {
  return decision.ratio ? fmt::format("{:+.1f} %", 100 * (*decision.ratio - 1)) : std::string("no ratio");
}

// Bad: some cell regressed. Good: every cell was decided and none regressed. A side that does not finish its runs says
// nothing about the metric, unless that is what is searched for.
Look judge_commit(const std::vector<CellVerdict>& cells, const std::string& metric, bool failing_is_bad) {
  Look look{.outcome = StepOutcome::good};
  for (const auto& cell : cells) {
    if (cell.whole) {
      if (failing_is_bad && cell.whole->verdict == Verdict::regressed) return {StepOutcome::bad, cell.whole->detail};
      look = {StepOutcome::skipped, cell.whole->detail};
      continue;
    }
    const auto* verdict = find_metric_verdict(cell, metric);
    if (verdict == nullptr) {
      look = {StepOutcome::skipped, cell.label + ": " + metric + " was not measured"};
      continue;
    }
    const auto& decision = verdict->decided.decision;
    const auto text = fmt::format("{}: {} {}", cell.label, spec::enum_name(decision.verdict), change_text(decision));
    if (decision.verdict == Verdict::regressed) return {StepOutcome::bad, text};
    const bool decided = decision.verdict == Verdict::same || decision.verdict == Verdict::improved;
    if (!decided) look = {StepOutcome::skipped, text};
    if (look.outcome == StepOutcome::good) look.detail = text;
  }
  return look;
}

class Bisect {
 public:
  Bisect(BisectOptions& options, const CommandContext& context)
      : options_(options), context_(context), history_(history_of(options.ab, context)) {
    options_.ab.metrics = {options_.metric};
  }

  ExitCode run() {
    options_.ab.rule();  // throws for what cannot be meant, before anything is built
    const auto good = history_.commit(options_.good);
    const auto bad = history_.commit(options_.bad);
    commits_ = history_.first_parents(good, bad);
    reports::print(stderr, "{} commits after {} up to {}\n", commits_.size(), short_commit(good), short_commit(bad));
    good_ = ready_revision(good, history_, options_.ab, interruption_);
    const auto whole = compare_sides(*good_, ready_revision(bad, history_, options_.ab, interruption_), options_.ab,
                                     AbPurpose::bisect, context_, interruption_);
    stop_if_cancelled(whole);
    begin(whole.report);
    failing_is_bad_ = fails(whole.report.cells);
    const auto first = judge_commit(whole.report.cells, options_.metric, failing_is_bad_);
    note(commits_.back(), first, whole.report.comparison.comparison_id);
    if (first.outcome != StepOutcome::bad) return nothing_to_find(first);
    narrow_to(whole.report.cells);
    return report(bisect(commits_.size(), [this](std::size_t index) { return look(index); }));
  }

 private:
  static bool fails(const std::vector<CellVerdict>& cells) {
    return std::any_of(cells.begin(), cells.end(),
                       [](const CellVerdict& cell) { return cell.whole && cell.whole->verdict == Verdict::regressed; });
  }

  static void stop_if_cancelled(const AbOutcome& outcome) {
    if (outcome.cancelled) throw Cancelled("[bisect] cancelled; the steps so far are in the database");
  }

  void begin(const reports::AbReport& whole) {
    db_.emplace(open_database(options_.ab.db));
    key_ = begin_bisection(*db_, {.matrix = whole.comparison.matrix,
                                  .metric = options_.metric,
                                  .good_commit = good_->commit,
                                  .bad_commit = commits_.back()});
  }

  // Cells that did not regress would only cost time.
  void narrow_to(const std::vector<CellVerdict>& cells) {
    for (const auto& cell : cells) {
      const auto* verdict = find_metric_verdict(cell, options_.metric);
      const bool slower = verdict != nullptr && verdict->decided.decision.verdict == Verdict::regressed;
      const bool failed = cell.whole && cell.whole->verdict == Verdict::regressed;
      if (slower || failed) options_.ab.cells.insert(cell.label);
    }
  }

  StepOutcome look(std::size_t index) {
    const auto& commit = commits_[index];
    Look found;
    std::string comparison;
    try {
      const auto side = ready_revision(commit, history_, options_.ab, interruption_);
      const auto outcome = compare_sides(*good_, side, options_.ab, AbPurpose::bisect, context_, interruption_);
      stop_if_cancelled(outcome);
      comparison = outcome.report.comparison.comparison_id;
      found = judge_commit(outcome.report.cells, options_.metric, failing_is_bad_);
    } catch (const BuildError& e) {
      found.detail = std::string(e.what()).substr(0, std::string_view(e.what()).find('\n'));
    } catch (const InputError& e) {  // its engine does not understand today's runs
      found.detail = e.what();
    }
    note(commit, found, comparison);
    return found.outcome;
  }

  void note(const std::string& commit, const Look& found, const std::string& comparison) {
    add_bisection_step(*db_, key_, steps_++, {commit, found.outcome, found.detail, comparison});
    reports::print("{:<7} {} {}  ({})\n", spec::enum_name(found.outcome), short_commit(commit),
                   history_.subject(commit), found.detail);
  }

  ExitCode nothing_to_find(const Look& found) {
    finish_bisection(*db_, key_, {});
    if (found.outcome == StepOutcome::good) {
      reports::print("\n{} is no slower than {}: there is nothing to find\n", options_.bad, options_.good);
      return ExitCode::fine;
    }
    reports::print("\nwhether {} is slower than {} could not be decided: give more --pairs, or a quieter machine\n",
                   options_.bad, options_.good);
    return ExitCode::inconclusive;
  }

  ExitCode report(const Candidates& left) {
    const std::vector<std::string> commits(commits_.begin() + static_cast<std::ptrdiff_t>(left.first),
                                           commits_.begin() + static_cast<std::ptrdiff_t>(left.last) + 1);
    finish_bisection(*db_, key_, commits);
    if (left.is_one()) {
      reports::print("\nfirst bad commit: {} {}\n", commits.front(), history_.subject(commits.front()));
      return ExitCode::regression;
    }
    reports::print("\nthe first bad commit is one of these, which cannot be told apart:\n");
    for (const auto& commit : commits) reports::print("  {} {}\n", commit, history_.subject(commit));
    return ExitCode::inconclusive;
  }

  BisectOptions& options_;
  const CommandContext& context_;
  Interruption interruption_;
  const GitHistory history_;
  std::vector<std::string> commits_;
  std::optional<AbSide> good_;
  std::optional<Connection> db_;
  std::int64_t key_ = 0;
  std::int64_t steps_ = 0;
  bool failing_is_bad_ = false;
};

constexpr const char* kStepGroup = "Pairs of each step";

}  // namespace

void add_bisect(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("bisect", "Which commit between a good and a bad one made it slower");
  auto options = std::make_shared<BisectOptions>();
  command->add_option("GOOD", options->good, "revision that is fast enough")->required();
  command->add_option("BAD", options->bad, "revision that is not, with GOOD among its first-parent ancestors")
      ->required();
  add_matrix_options(*command, options->ab.matrix);
  add_path(*command, "--db", options->ab.db, PathIs::database, "database, made when absent")->capture_default_str();
  command->add_option("--metric", options->metric, "metric of the catalog that got worse")->capture_default_str();
  add_execution_options(*command, options->ab.execution);
  add_ab_options(*command, options->ab, kStepGroup);
  command->remove_option(command->get_option("--metrics"));
  command->footer(
      "Example:\n"
      "  perfbench bisect v1.2 HEAD matrices/quickstart.yaml --only model=gpt-mini --pairs 8\n"
      "BAD is compared with GOOD first; the steps then run only the cells that regressed. A commit that cannot be "
      "built\n"
      "or decided is skipped.\n"
      "Exit codes: 1 the first bad commit was found; 0 BAD is not worse than GOOD; 2 several commits cannot be told\n"
      "apart, or BAD cannot be decided; 3 wrong input; 4 GOOD or BAD cannot be built, or cancelled.");
  command->callback([options, &context] { context.exit_code = Bisect(*options, context).run(); });
}

}  // namespace perfbench::harness
