#include "harness/app/pairs/bisect_commits.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "harness/app/pairs/ab_comparison.h"
#include "harness/app/pairs/ab_preparation.h"
#include "harness/execute/interruption.h"
#include "harness/pairs/commit_build.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/bisection_ledger.h"
#include "harness/system/input_error.h"
#include "harness/system/parallel_ranges.h"
#include "reports/render/format/print.h"

namespace perfbench::harness {
namespace {

const MetricVerdict* find_metric_verdict(const CellVerdict& cell, const std::string& metric) {
  const auto found = std::find_if(cell.metrics.begin(), cell.metrics.end(),
                                  [&metric](const auto& verdict) { return verdict.rule.metric == metric; });
  return found == cell.metrics.end() ? nullptr : &*found;
}

std::string change_text(const Decision& decision) {
  return decision.ratio ? fmt::format("{:+.1f} %", 100 * (*decision.ratio - 1)) : std::string("no ratio");
}

// Bad: some cell regressed. Good: every cell was decided and none regressed. A side that does not finish its runs
// decides nothing about the metric, unless the failure is what the search is for.
BisectStep judge_commit(const std::vector<CellVerdict>& cells, const std::string& metric, bool failing_is_bad) {
  BisectStep look{.outcome = StepOutcome::good};
  for (const auto& cell : cells) {
    if (cell.whole) {
      if (failing_is_bad && cell.whole->verdict == Verdict::regressed)
        return {.outcome = StepOutcome::bad, .detail = cell.whole->detail};
      look = {.outcome = StepOutcome::skipped, .detail = cell.whole->detail};
      continue;
    }
    const auto* verdict = find_metric_verdict(cell, metric);
    if (verdict == nullptr) {
      look = {.outcome = StepOutcome::skipped, .detail = cell.label + ": " + metric + " was not measured"};
      continue;
    }
    const auto& decision = verdict->decided.decision;
    const auto text = fmt::format("{}: {} {}", cell.label, spec::enum_name(decision.verdict), change_text(decision));
    if (decision.verdict == Verdict::regressed) return {.outcome = StepOutcome::bad, .detail = text};
    const bool decided = decision.verdict == Verdict::same || decision.verdict == Verdict::improved;
    if (!decided) look = {.outcome = StepOutcome::skipped, .detail = text};
    if (look.outcome == StepOutcome::good) look.detail = text;
  }
  return look;
}

class Bisect {
 public:
  Bisect(BisectRequest& request, const Installation& installation, Interruption& interruption,
         const std::function<void(const BisectStep&)>& on_step)
      : request_(request),
        installation_(installation),
        interruption_(interruption),
        on_step_(on_step),
        source_(revision_source(request.ab, installation)) {
    request_.ab.metrics = {request_.metric};
  }

  BisectOutcome run() {
    request_.ab.rule();  // throws for an invalid request before anything is built
    const auto good = source_.history.commit(request_.good);
    const auto bad = source_.history.commit(request_.bad);
    commits_ = source_.history.first_parents(good, bad);
    reports::print(stderr, "{} commits after {} up to {}\n", commits_.size(), short_commit(good), short_commit(bad));
    check_before_building(named(good), named(bad), request_.ab, installation_);
    good_ = ready(good);
    const auto whole = compare_sides(*good_, ready(bad), request_.ab, AbPurpose::bisect, installation_, interruption_);
    stop_if_cancelled(whole);
    begin(whole.report);
    failing_is_bad_ = fails(whole.report.cells);
    const auto first = judge_commit(whole.report.cells, request_.metric, failing_is_bad_);
    note(commits_.back(), first, whole.report.comparison.comparison_id);
    if (first.outcome != StepOutcome::bad) return nothing_to_find(first.outcome);
    narrow_to(whole.report.cells);
    return suspects(bisect(commits_.size(), [this](std::size_t index) { return look(index); }));
  }

 private:
  static bool fails(const std::vector<CellVerdict>& cells) {
    return std::any_of(cells.begin(), cells.end(),
                       [](const CellVerdict& cell) { return cell.whole && cell.whole->verdict == Verdict::regressed; });
  }

  static void stop_if_cancelled(const AbOutcome& outcome) {
    if (outcome.cancelled) throw Cancelled("[bisect] cancelled; the steps so far are in the database");
  }

  void begin(const AbReport& whole) {
    db_.emplace(open_database(request_.ab.db));
    key_ = begin_bisection(*db_, {.matrix = whole.comparison.matrix,
                                  .metric = request_.metric,
                                  .good_commit = good_->commit,
                                  .bad_commit = commits_.back()});
  }

  AbSide ready(const std::string& commit) const { return ready_side(named(commit), request_.ab, interruption_); }
  AbSide named(const std::string& commit) const { return named_revision(commit, source_, installation_); }

  // Cells that did not regress would only cost time.
  void narrow_to(const std::vector<CellVerdict>& cells) {
    for (const auto& cell : cells) {
      const auto* verdict = find_metric_verdict(cell, request_.metric);
      const bool slower = verdict != nullptr && verdict->decided.decision.verdict == Verdict::regressed;
      const bool failed = cell.whole && cell.whole->verdict == Verdict::regressed;
      if (slower || failed) request_.ab.cells.insert(cell.label);
    }
  }

  StepOutcome look(std::size_t index) {
    const auto& commit = commits_[index];
    BisectStep found;
    std::string comparison;
    try {
      const auto outcome =
          compare_sides(*good_, ready(commit), request_.ab, AbPurpose::bisect, installation_, interruption_);
      stop_if_cancelled(outcome);
      comparison = outcome.report.comparison.comparison_id;
      found = judge_commit(outcome.report.cells, request_.metric, failing_is_bad_);
    } catch (const BuildError& e) {
      found.detail = std::string(e.what()).substr(0, std::string_view(e.what()).find('\n'));
    } catch (const InputError& e) {  // its engine does not understand today's runs
      found.detail = e.what();
    }
    note(commit, found, comparison);
    return found.outcome;
  }

  void note(const std::string& commit, BisectStep found, const std::string& comparison) {
    add_bisection_step(*db_, key_, steps_++, {commit, found.outcome, found.detail, comparison});
    found.commit = commit;
    found.subject = source_.history.subject(commit);
    on_step_(found);
  }

  BisectOutcome nothing_to_find(StepOutcome outcome) {
    finish_bisection(*db_, key_, {});
    return {outcome == StepOutcome::good ? BisectEnd::nothing_to_find : BisectEnd::undecided, {}};
  }

  BisectOutcome suspects(const Candidates& left) {
    const std::vector<std::string> commits(commits_.begin() + static_cast<std::ptrdiff_t>(left.first),
                                           commits_.begin() + static_cast<std::ptrdiff_t>(left.last) + 1);
    finish_bisection(*db_, key_, commits);
    BisectOutcome out{.end = left.is_one() ? BisectEnd::found : BisectEnd::several, .suspects = {}};
    for (const auto& commit : commits)
      out.suspects.push_back({.commit = commit, .subject = source_.history.subject(commit)});
    return out;
  }

  BisectRequest& request_;
  const Installation& installation_;
  Interruption& interruption_;
  const std::function<void(const BisectStep&)>& on_step_;
  const RevisionSource source_;
  std::vector<std::string> commits_;
  std::optional<AbSide> good_;
  std::optional<Connection> db_;
  std::int64_t key_ = 0;
  std::int64_t steps_ = 0;
  bool failing_is_bad_ = false;
};

}  // namespace

BisectOutcome bisect_commits(BisectRequest request, const Installation& installation, Interruption& interruption,
                             const std::function<void(const BisectStep&)>& on_step) {
  return Bisect(request, installation, interruption, on_step).run();
}

}  // namespace perfbench::harness
