// Several metrics, machines and cells in one comparison, and the requests of the ledger afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/baseline_findings.h"
#include "harness/judge/compare.h"
#include "harness/stats/false_discovery.h"
#include "harness/stats/verdict.h"
#include "harness/system/input_error.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::shared_ptr<const StoredEnvironment> gate_machine(const std::string& name) {
  StoredEnvironment out;
  out.machine_fingerprint = name;
  out.facts = {{"cpu_model", name}};
  return std::make_shared<const StoredEnvironment>(out);
}

// Runs of one cell with these step times on one machine; keys count up from `first_key`.
CellRuns runs(const std::string& run_id, const std::vector<double>& step_s, std::int64_t first_key,
              const std::string& on = "m1") {
  CellRuns out{.matrix = "m", .label = run_id, .run_id = run_id, .attempts = {}};
  for (const double value : step_s) {
    StoredAttempt attempt;
    attempt.key = first_key++;
    attempt.run_id = run_id;
    attempt.matrix = "m";
    attempt.cell = run_id;
    attempt.run = std::make_shared<const spec::RunSpec>();
    attempt.environment = gate_machine(on);
    attempt.metrics = {{"step_time_s", value}, {"final_loss", 2.5}, {"probe_spread_fraction", 0.0}};
    out.attempts.push_back(attempt);
  }
  return out;
}

const std::vector<double> kBase{1.00, 1.001, 0.999, 1.002, 0.998, 1.0};
const std::vector<double> kSlower{1.10, 1.101, 1.099, 1.102, 1.098, 1.1};

// Six sessions of run "a" on these machines, alternately 0.2 % above and below 1 s; none of the runs above belongs to
// them.
SessionLevels quiet_sessions(const std::vector<std::string>& machines) {
  SessionLevels out;
  for (const auto& name : machines) {
    for (int i = 0; i < 6; ++i) {
      out[{"m", "a"}].push_back({.sweep_id = "quiet" + std::to_string(i),
                                 .machine = name,
                                 .log_level = i % 2 == 0 ? 0.002 : -0.002,
                                 .runs = 6});
    }
  }
  return out;
}

TEST(SplitByMachine, KeepsNumbersOfTwoMachinesApart) {
  auto cell = runs("a", kBase, 1);
  const auto other = runs("a", kSlower, 100, "m2");
  cell.attempts.insert(cell.attempts.end(), other.attempts.begin(), other.attempts.end());
  auto unknown = cell.attempts.front();
  unknown.environment = nullptr;
  cell.attempts.push_back(unknown);
  const auto split = split_by_machine({cell});
  ASSERT_THAT(split, SizeIs(2));
  EXPECT_EQ(split[0].machine(), "m1");
  EXPECT_THAT(split[0].attempts, SizeIs(7));  // including the one of an unknown machine
  EXPECT_EQ(split[1].machine(), "m2");
  EXPECT_THAT(split[1].attempts, SizeIs(6));
}

TEST(CompareWithRuns, ComparesEachMachineWithItself) {
  const std::vector<CellRuns> current{runs("a", kBase, 1), runs("a", kSlower, 20, "m2")};
  const RunBaseline baseline{.scope = "b", .cells = {runs("a", kSlower, 40, "m2"), runs("a", kBase, 60)}};
  const auto found = compare_with_runs(current, baseline, "step_time_s", quiet_sessions({"m1", "m2"}));
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].decision.verdict, Verdict::same) << found[0].decision.detail;
  EXPECT_EQ(found[0].machine, "m1");
  EXPECT_EQ(found[1].decision.verdict, Verdict::same) << found[1].decision.detail;
  EXPECT_EQ(found[1].machine, "m2");
}

// The same cell on another processor, at 1.5 times the time: the effect of the code is unknown.
TEST(CompareWithRuns, ACellOfTheBaselineThatCannotBeComparedIsUndecided) {
  auto moved = runs("b", {1.5, 1.5}, 10);
  for (auto& attempt : moved.attempts) {
    auto other = *attempt.environment;
    other.facts["cpu_model"] = "another";
    attempt.environment = std::make_shared<const StoredEnvironment>(other);
  }
  const RunBaseline baseline{.scope = "b", .cells = {runs("a", kBase, 60), runs("b", kBase, 80)}};
  const auto sessions = quiet_sessions({"m1"});
  const auto found = compare_with_runs({runs("a", kBase, 1), moved}, baseline, "step_time_s", sessions);
  EXPECT_EQ(found[0].decision.verdict, Verdict::same);
  EXPECT_EQ(found[1].decision.reason, VerdictReason::other_machine);
  EXPECT_EQ(overall(verdicts_of(found)), Verdict::inconclusive);
  const auto fresh =
      compare_with_runs({runs("a", kBase, 1), runs("new", kBase, 10)}, baseline, "step_time_s", sessions);
  EXPECT_EQ(fresh[1].decision.reason, VerdictReason::no_baseline);
  EXPECT_EQ(overall(verdicts_of(fresh)), Verdict::same) << "a new cell has nothing to be compared with";
}

TEST(CompareWithRuns, ACellComparedWithAnotherRunDoesNotCountIfItIsNotComparable) {
  auto other = runs("other", kBase, 10);
  spec::RunSpec longer;
  longer.seq_len = 4096;
  for (auto& attempt : other.attempts) attempt.run = std::make_shared<const spec::RunSpec>(longer);
  const RunBaseline named{.scope = "run:a", .cells = {runs("a", kBase, 60)}, .for_every_cell = true};
  const auto found = compare_with_runs({runs("a", kBase, 1), other}, named, "step_time_s", quiet_sessions({"m1"}));
  EXPECT_EQ(found[1].decision.reason, VerdictReason::other_work);
  EXPECT_EQ(overall(verdicts_of(found)), Verdict::same);
}

CellRuns with_loss(CellRuns cell, double loss, const std::string& onednn) {
  for (auto& attempt : cell.attempts) {
    attempt.metrics["final_loss"] = loss;
    auto environment = *attempt.environment;
    environment.facts["libraries.oneDNN"] = onednn;
    attempt.environment = std::make_shared<const StoredEnvironment>(environment);
  }
  return cell;
}

TEST(CompareWithRuns, ALossIsExactWhereItRepeatsAndTheSameLibrariesComputeIt) {
  const auto decided = [](std::size_t count, double loss, const std::string& now, bool deterministic = true) {
    const std::vector<double> step_s(count, 1.0);
    auto current = with_loss(runs("a", step_s, 1), loss, now);
    auto free = *current.attempts.front().run;
    free.deterministic = deterministic;
    for (auto& attempt : current.attempts) attempt.run = std::make_shared<const spec::RunSpec>(free);
    const RunBaseline baseline{.scope = "b", .cells = {with_loss(runs("a", step_s, 60), 2.5, "2.6")}};
    return compare_with_runs({current}, baseline, "final_loss")[0].decision;
  };
  EXPECT_EQ(decided(2, 2.5075, "2.6").reason, VerdictReason::exact);
  EXPECT_EQ(decided(2, 2.5075, "2.6").verdict, Verdict::regressed);
  EXPECT_EQ(decided(1, 2.5075, "2.6").reason, VerdictReason::too_few_runs);
  EXPECT_EQ(decided(1, 2.5, "2.6").verdict, Verdict::same);
  const auto other = decided(2, 2.5075, "3.1");
  EXPECT_EQ(other.reason, VerdictReason::too_few_runs);
  EXPECT_THAT(other.detail, HasSubstr("its numbers are not exact: libraries.oneDNN 3.1 vs 2.6"));
  EXPECT_THAT(decided(2, 2.5075, "2.6", false).detail, HasSubstr("not exact: deterministic: false"));
  EXPECT_EQ(decided(6, 2.5075, "3.1").reason, VerdictReason::significant) << "the test finds it";
}

TEST(CompareWithRuns, SaysThatStepsGrewDuringTheRuns) {
  auto growing = runs("a", kBase, 1);
  for (auto& attempt : growing.attempts) attempt.metrics["step_time_trend_fraction"] = 0.32;
  const RunBaseline baseline{.scope = "b", .cells = {runs("a", kBase, 60)}};
  const auto found = compare_with_runs({growing}, baseline, "step_time_s", quiet_sessions({"m1"}));
  EXPECT_EQ(found[0].decision.verdict, Verdict::same);
  EXPECT_THAT(
      found[0].notes,
      testing::Contains("here: its steps became 32.0 % slower during a run; longer runs may differ in another way"));
}

TEST(CompareWithRuns, ReportsVanishedCellsOfTheSameMatrixOnRequest) {
  auto elsewhere = runs("of another matrix", kBase, 80);
  elsewhere.matrix = "n";
  RunBaseline baseline{.scope = "baseline 'b'", .cells = {runs("a", kBase, 40), runs("gone", kBase, 60), elsewhere}};
  EXPECT_THAT(compare_with_runs({runs("a", kBase, 1)}, baseline, "step_time_s"), SizeIs(1));
  baseline.absent = AbsentCells::reported;
  const auto found = compare_with_runs({runs("a", kBase, 1)}, baseline, "step_time_s");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[1].label, "gone");
  EXPECT_EQ(found[1].decision.reason, VerdictReason::vanished);
  EXPECT_FALSE(found[1].current.has_value());
  EXPECT_NEAR(*found[1].baseline, 1.0, 1e-12);
  EXPECT_EQ(overall(verdicts_of(found)), Verdict::inconclusive);
}

CellRuns diverged(CellRuns cell) {
  for (auto& attempt : cell.attempts) {
    attempt.state = AttemptState::diverged;
    attempt.reason = "the loss became NaN at step 3";
    attempt.metrics.erase("final_loss");
  }
  return cell;
}

TEST(CompareWithRuns, ARunThatDivergesWhereTheBaselineDidNotIsARegressionInEveryMetric) {
  const RunBaseline baseline{.scope = "b", .cells = {runs("a", kBase, 60)}};
  for (const auto* metric : kGateMetrics) {
    const auto found = compare_with_runs({diverged(runs("a", kBase, 1))}, baseline, metric);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].decision.verdict, Verdict::regressed) << metric;
    EXPECT_EQ(found[0].decision.reason, VerdictReason::side_failed);
    EXPECT_EQ(found[0].decision.detail, "diverged: the loss became NaN at step 3, where the baseline did not");
  }
}

TEST(CompareWithRuns, ABaselineThatDivergedIsNotedAndNothingIsBlamed) {
  const RunBaseline baseline{.scope = "b", .cells = {diverged(runs("a", kBase, 60))}};
  const auto both = compare_with_runs({diverged(runs("a", kBase, 1))}, baseline, "final_loss");
  EXPECT_EQ(both[0].decision.verdict, Verdict::inconclusive);
  EXPECT_EQ(both[0].decision.detail,
            "nothing to compare: no run of it is ok: diverged: the loss became NaN at step 3; nothing in the baseline: "
            "no run of it is ok: diverged: the loss became NaN at step 3");
  const auto mended = compare_with_runs({runs("a", kBase, 1)}, baseline, "final_loss");
  EXPECT_EQ(mended[0].decision.detail,
            "nothing in the baseline: no run of it is ok: diverged: the loss became NaN at step 3");
}

// A sweep that was resumed with a repaired engine has both.
TEST(CompareWithRuns, ACellThatDivergedAndIsRepairedIsComparedWithANote) {
  auto cell = diverged(runs("a", {1.0}, 1));
  const auto fresh = runs("a", kBase, 10);
  cell.attempts.insert(cell.attempts.end(), fresh.attempts.begin(), fresh.attempts.end());
  const RunBaseline baseline{.scope = "b", .cells = {runs("a", kBase, 60)}};
  const auto found = compare_with_runs({cell}, baseline, "step_time_s", quiet_sessions({"m1"}));
  EXPECT_EQ(found[0].decision.verdict, Verdict::same);
  EXPECT_THAT(found[0].notes, testing::Contains("1 of 7 attempts diverged"));
}

TEST(CompareWithValues, ARunThatDivergesIsARegression) {
  Baseline baseline;
  baseline.name = "was";
  baseline.values = {{"a", "final_loss", 2.5}};
  const auto found = compare_with_values({diverged(runs("a", kBase, 1))}, baseline, "final_loss");
  EXPECT_EQ(found[0].decision.verdict, Verdict::regressed);
}

TEST(CompareWithRuns, SaysWhyAMetricHasNoValue) {
  const RunBaseline baseline{.scope = "b", .cells = {runs("a", kBase, 60)}};
  const auto why = [&](const std::string& metric, const CellRuns& cell) {
    return compare_with_runs({cell}, baseline, metric)[0].decision.detail;
  };
  EXPECT_THAT(why("startup_time_s", runs("a", kBase, 1)),
              HasSubstr("no run of it has startup_time_s: its engine left no result.json"));
  auto zero = runs("a", kBase, 1);
  for (auto& attempt : zero.attempts) attempt.metrics["exposed_comm_time_s"] = 0;
  EXPECT_THAT(why("exposed_comm_time_s", zero), HasSubstr("its exposed_comm_time_s is 0, so there is no ratio"));
  auto crashed = runs("a", kBase, 1);
  for (auto& attempt : crashed.attempts) attempt.state = AttemptState::crashed;
  EXPECT_THAT(why("step_time_s", crashed), HasSubstr("no run of it is ok: crashed"));
}

CellComparison with_p(double p, Verdict verdict = Verdict::regressed) {
  CellComparison out;
  out.metric = "step_time_s";
  out.decision.verdict = verdict;
  out.decision.reason = verdict == Verdict::same ? VerdictReason::equivalent : VerdictReason::significant;
  out.decision.p = p;
  return out;
}

// Sorted p: .0001, .004, .008, .5 of 4: adjusted .0004, .008, .0107, .5 (p m / rank).
TEST(ControlFalseDiscoveries, TakesBackDecisionsThatAreNotSignificantAmongAll) {
  std::vector<CellComparison> all{with_p(0.008), with_p(0.0001), with_p(0.5, Verdict::same), with_p(0.004)};
  all.push_back({});  // too few runs: has no p and does not count
  control_false_discoveries(tested_decisions(all), 0.01);
  EXPECT_EQ(all[0].decision.verdict, Verdict::inconclusive);
  EXPECT_EQ(all[0].decision.reason, VerdictReason::false_discovery);
  EXPECT_THAT(all[0].decision.detail, HasSubstr("0.008 alone, but 0.011 among the 4 compared"));
  EXPECT_EQ(all[1].decision.verdict, Verdict::regressed);
  EXPECT_EQ(all[2].decision.verdict, Verdict::same);
  EXPECT_EQ(all[3].decision.verdict, Verdict::regressed);
}

TEST(RuleFor, HasTheMarginsOfAGate) {
  EXPECT_DOUBLE_EQ(metric_rule("step_time_s").margin_fraction, 0.02);
  EXPECT_DOUBLE_EQ(metric_rule("step_time_mean_s").margin_fraction, 0.05);
  EXPECT_DOUBLE_EQ(metric_rule("tokens_per_s").margin_fraction, 0.05) << "which is made of it";
  EXPECT_DOUBLE_EQ(metric_rule("startup_time_s").margin_fraction, 0.10);
  EXPECT_DOUBLE_EQ(metric_rule("peak_memory_bytes").margin_fraction, 0.01);
  EXPECT_DOUBLE_EQ(metric_rule("final_loss").margin_fraction, 0.002);
  for (const auto* metric : kGateMetrics) EXPECT_NO_THROW(metric_rule(metric)) << metric;
  EXPECT_THROW(metric_rule("warmup_steps"), InputError);
}

// A probe that moved spoils a time, but not a loss.
TEST(SampleOf, AcceptsALossOfANoisyRun) {
  auto cell = runs("a", kBase, 1);
  for (auto& attempt : cell.attempts) attempt.metrics["probe_spread_fraction"] = 0.5;
  EXPECT_THAT(sample_of(cell, "final_loss").values, SizeIs(6));
  EXPECT_THAT(sample_of(cell, "step_time_s").values, SizeIs(0));
  EXPECT_THAT(sample_of(cell, "step_time_s").noisy, SizeIs(6));
}

TEST(SampleOf, AcceptsATimeOfAGpuWhoseClockChanges) {
  auto cell = runs("a", kBase, 1);
  auto on_gpu = *cell.attempts.front().run;
  on_gpu.device = spec::Device::cuda;
  for (auto& attempt : cell.attempts) {
    attempt.metrics["probe_spread_fraction"] = 0.15;
    attempt.run = std::make_shared<const spec::RunSpec>(on_gpu);
  }
  EXPECT_THAT(sample_of(cell, "step_time_s").values, SizeIs(6));
}

Baseline entry(const std::string& name, const std::string& expires) {
  Baseline out;
  out.name = name;
  out.kind = BaselineKind::rolling;
  out.author = "ada";
  out.expires_utc = expires;
  out.attempt_keys = {1};
  return out;
}

TEST(ExpiredBaselines, AreNamesWithNothingInForce) {
  const auto found = expired_baselines({entry("gone", "2026-01-01T00:00:00Z"), entry("kept", ""),
                                        entry("kept", "2026-01-01T00:00:00Z"), entry("fine", "2027-01-01T00:00:00Z")},
                                       "2026-06-01T00:00:00Z");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].what, HasSubstr("'gone' (rolling, by ada) expired 2026-01-01T00:00:00Z"));
  EXPECT_EQ(found[0].command,
            "perfbench baseline set gone --kind rolling --from latest --reason 'renewed after it expired'");
}

CellComparison improved(double ratio) {
  auto out = with_p(0.001, Verdict::improved);
  out.label = "cell";
  out.margin_fraction = 0.02;
  out.decision.ratio = ratio;
  return out;
}

TEST(RefreshAfterImprovement, IsAskedForBeyondTheMarginOnly) {
  const auto baseline = entry("main", "");
  EXPECT_FALSE(refresh_after_improvement({improved(0.985)}, baseline, "latest"));
  EXPECT_FALSE(refresh_after_improvement({with_p(0.001)}, baseline, "latest"));
  const auto found = refresh_after_improvement({improved(0.95), improved(0.90), with_p(0.5)}, baseline, "sweep7");
  ASSERT_TRUE(found.has_value());
  EXPECT_THAT(found->what, HasSubstr("2 of 3 improved beyond the margin, the most step_time_s of cell by -10.0 %"));
  EXPECT_EQ(found->command, "perfbench baseline set main --kind rolling --from sweep7 --reason 'improved'");
  auto published = baseline;
  published.attempt_keys.clear();
  EXPECT_FALSE(refresh_after_improvement({improved(0.90)}, published, "latest"));
}

TEST(CreepCheck, IsDueAMonthAfterTheLast) {
  EXPECT_EQ(next_creep_check("2026-03-15T02:00:00Z"), "2026-04-15T02:00:00Z");
  EXPECT_EQ(next_creep_check("2026-12-15T02:00:00Z"), "2027-01-15T02:00:00Z");
  EXPECT_EQ(next_creep_check("2026-01-31T02:00:00Z"), "2026-02-28T02:00:00Z");
  EXPECT_EQ(next_creep_check("2028-01-31T02:00:00Z"), "2028-02-29T02:00:00Z");
  EXPECT_TRUE(creep_check_is_due("", "2026-03-15T02:00:00Z"));
  EXPECT_FALSE(creep_check_is_due("2026-03-15T02:00:00Z", "2026-04-15T01:59:59Z"));
  EXPECT_TRUE(creep_check_is_due("2026-03-15T02:00:00Z", "2026-04-15T02:00:00Z"));
}

}  // namespace
}  // namespace perfbench::harness
