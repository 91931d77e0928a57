#include "harness/judge/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/judge/comparability.h"
#include "harness/stats/verdict.h"
#include "harness/store/attempts/ingest.h"
#include "harness/store/database.h"
#include "harness/store/queries/query.h"
#include "harness/system/input_error.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::map<std::string, std::string> kNode{{"cpu_model", "A"}, {"cores_allowed", "2"}, {"kernel", "6.1"}};

std::vector<std::string> texts(const std::vector<Obstacle>& found) {
  std::vector<std::string> out;
  for (const auto& obstacle : found) out.push_back(obstacle.text);
  return out;
}

TEST(Comparability, TheSameRunOnTheSameMachineHasNoObstacle) {
  const auto run = example_spec();
  EXPECT_THAT(obstacles({run, kNode}, {run, kNode}), IsEmpty());
  EXPECT_THAT(differences({run, kNode}, {run, kNode}), IsEmpty());
}

TEST(Comparability, IsAboutTheWorkAndNotAboutHowItIsDone) {
  const auto run = example_spec();
  auto tuned = run;
  tuned.remat = "full";
  tuned.attention = spec::AttentionKind::dot_product;
  tuned.steps = 99;
  EXPECT_THAT(obstacles({tuned, kNode}, {run, kNode}), IsEmpty());
  EXPECT_THAT(differences({tuned, kNode}, {run, kNode}),
              ElementsAre("attention dot_product vs flash", "remat full vs none"));
}

TEST(Comparability, ListsEveryObstacle) {
  const auto run = example_spec();
  auto other = run;
  other.model.name = "llama-big";
  other.model.layers = 9;
  other.seq_len = 64;
  other.precision = spec::Precision::bf16;
  other.mesh.ici.fsdp = 2;
  auto machine = kNode;
  machine["cpu_model"] = "B";
  EXPECT_THAT(texts(obstacles({other, machine}, {run, kNode})),
              ElementsAre("cpu_model B vs A", "model llama-big vs llama-tiny", "precision bf16 vs fp32",
                          "seq_len 64 vs 32", "devices 2 vs 1"));
}

TEST(Comparability, AChangedModelWithTheSameNameNamesTheField) {
  const auto run = example_spec();
  auto other = run;
  other.model.d_ff = 256;
  EXPECT_THAT(texts(obstacles({other, kNode}, {run, kNode})), ElementsAre("model.d_ff 256 vs 128"));
}

TEST(Comparability, ShowsWhatElseChangedInTheEnvironment) {
  const auto run = example_spec();
  auto machine = kNode;
  machine["kernel"] = "6.5";
  EXPECT_THAT(obstacles({run, machine}, {run, kNode}), IsEmpty());
  EXPECT_THAT(differences({run, machine}, {run, kNode}), ElementsAre("kernel 6.5 vs 6.1"));
}

// Baseline and current sweeps of one cell in one store.
struct History {
  ScratchFolder scratch;
  Connection db = open_database(scratch / "a.db");
  int written = 0;

  void add(const std::string& sweep, double step_s, int runs, const std::vector<double>& probe_s = {0.001}) {
    for (int i = 0; i < runs; ++i) {
      ExampleRun example{.attempt = example_attempt("c", ++written)};
      example.attempt.sweep_id = sweep;
      const double s = step_s * (1 + 0.001 * i);
      example.step_s = {2 * s, s, s, s, s, s};
      example.probe_s = probe_s;
      write_run_directory(scratch / "runs" / std::to_string(written), example);
    }
    ingest_tree(db, scratch / "runs");
  }
  std::vector<CellRuns> cells(const std::string& selection) {
    return group_by_subject(load_attempts(db, parse_selection(selection)));
  }
  // Six other sessions of the cell in `of`, alternately 0.2 % above and below 0.5 s.
  SessionLevels quiet(const std::vector<CellRuns>& of) {
    SessionLevels out;
    for (int i = 0; i < 6; ++i) {
      out[{of[0].matrix, of[0].run_id}].push_back({.sweep_id = "quiet" + std::to_string(i),
                                                   .machine = of[0].machine(),
                                                   .log_level = std::log(0.5) + (i % 2 == 0 ? 0.002 : -0.002),
                                                   .runs = 5});
    }
    return out;
  }
};

TEST(Compare, FindsARegressionWithFiveRunsASide) {
  History history;
  history.add("s1", 0.5, 5);
  history.add("s2", 0.6, 5);
  const auto current = history.cells("s2");
  const auto found =
      compare_with_runs(current, {.scope = "s1", .cells = history.cells("s1")}, "step_time_s", history.quiet(current));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].decision.verdict, Verdict::regressed);
  EXPECT_NEAR(*found[0].decision.ratio, 1.2, 1e-9);
  EXPECT_NEAR(*found[0].current, 0.6 * 1.002, 1e-8);
  EXPECT_EQ(overall(verdicts_of(found)), Verdict::regressed);
}

TEST(Compare, LeavesOutRunsWhoseProbeMoved) {
  History history;
  history.add("s1", 0.5, 5);
  history.add("s2", 0.6, 5, {0.001, 0.001, 0.002, 0.001, 0.002, 0.001});
  const auto found =
      compare_with_runs(history.cells("s2"), {.scope = "s1", .cells = history.cells("s1")}, "step_time_s");
  EXPECT_EQ(found[0].decision.reason, VerdictReason::all_noisy);
  EXPECT_NEAR(*found[0].decision.ratio, 1.2, 1e-9);
  EXPECT_EQ(overall(verdicts_of(found)), Verdict::inconclusive);
}

TEST(Compare, ReportsThatABaselineOfSeveralRunsLacksTheCell) {
  History history;
  history.add("s1", 0.5, 1);
  auto cells = history.cells("s1");
  auto others = cells;
  others.push_back(cells[0]);
  others[0].run_id = "x";
  others[1].run_id = "y";
  const auto found = compare_with_runs(cells, {.scope = "baseline 'v1'", .cells = others}, "step_time_s");
  EXPECT_EQ(found[0].decision.reason, VerdictReason::no_baseline);
  EXPECT_THAT(found[0].decision.detail, HasSubstr("baseline 'v1' has nothing for this cell"));
  EXPECT_EQ(overall(verdicts_of(found)), Verdict::inconclusive) << "nothing was comparable";
}

TEST(Compare, NumbersFromOutsideMatchByLabelAndByRun) {
  History history;
  history.add("s1", 0.5, 8);
  const auto cells = history.cells("s1");
  Baseline numbers;
  numbers.name = "old";
  numbers.values = {{"c", "step_time_s", 0.4}};
  EXPECT_EQ(compare_with_values(cells, numbers, "step_time_s")[0].decision.verdict, Verdict::regressed);
  numbers.values.push_back({cells[0].run_id, "step_time_s", 0.6});
  EXPECT_EQ(compare_with_values(cells, numbers, "step_time_s")[0].decision.verdict, Verdict::improved)
      << "the run id is the closer match";
  numbers.values = {{"other", "step_time_s", 0.6}};
  EXPECT_EQ(compare_with_values(cells, numbers, "step_time_s")[0].decision.verdict, Verdict::not_comparable);
}

TEST(Compare, ReportsAComparisonOfRunsWithThemselves) {
  History history;
  history.add("s1", 0.5, 5);
  const auto cells = history.cells("s1");
  const auto found = compare_with_runs(cells, {.scope = "s1", .cells = cells}, "step_time_s");
  EXPECT_EQ(found[0].decision.reason, VerdictReason::same_runs);
  EXPECT_EQ(overall(verdicts_of(found)), Verdict::inconclusive);
}

// Five of these six are the baseline: they say nothing about themselves.
TEST(Compare, LeavesCurrentRunsOutOfTheBaseline) {
  History history;
  history.add("s1", 0.5, 6);
  history.add("s2", 0.6, 5);
  const auto current = history.cells("s1");
  auto baseline = current;
  baseline[0].attempts.pop_back();
  auto found = compare_with_runs(current, {.scope = "b", .cells = baseline}, "step_time_s");
  EXPECT_EQ(found[0].decision.reason, VerdictReason::same_runs);
  // If there are runs of another day, only those count.
  found =
      compare_with_runs(current, {.scope = "b", .cells = history.cells("all")}, "step_time_s", history.quiet(current));
  EXPECT_EQ(found[0].decision.verdict, Verdict::improved);
  EXPECT_NEAR(*found[0].decision.ratio, 1 / 1.2, 1e-3);
}

TEST(Compare, ASingleRunIsEveryCellsCounterpartOnlyIfItWasNamed) {
  History history;
  history.add("s1", 0.5, 5);
  history.add("s2", 0.5, 5);
  auto baseline = history.cells("s1");
  baseline[0].run_id = "another run";
  const auto verdict = [&](bool for_every_cell) {
    const RunBaseline one{.scope = "b", .cells = baseline, .for_every_cell = for_every_cell};
    return compare_with_runs(history.cells("s2"), one, "step_time_s", history.quiet(history.cells("s2")))[0].decision;
  };
  EXPECT_EQ(verdict(false).reason, VerdictReason::no_baseline);
  EXPECT_EQ(verdict(true).verdict, Verdict::same);
}

TEST(Compare, RefusesAMetricThatIsNotAQuantity) {
  try {
    metric_rule("step_time");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), HasSubstr("did you mean 'step_time_s'"));
  }
  EXPECT_EQ(metric_rule("tokens_per_s").direction, spec::Direction::higher_is_better);
}

}  // namespace
}  // namespace perfbench::harness
