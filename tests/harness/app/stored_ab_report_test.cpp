#include "harness/app/pairs/stored_ab_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/evidence/run_evidence.h"
#include "harness/store/database.h"
#include "harness/store/ledgers/comparison_ledger.h"
#include "harness/store/ledgers/judgement_ledger.h"
#include "harness/store/stored_row.h"
#include "tests/harness/example_run.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class StoredAbReportTest : public testing::Test {
 protected:
  StoredAbReportTest() {
    comparison_.a.asked = "HEAD~1";
    comparison_.a.kind = SideKind::revision;
    comparison_.a.git_commit = std::string(40, 'c');
    comparison_.b.asked = "current";
    begin_comparison(db_, comparison_);
  }

  // Attempt N of the example's run.
  SideRun side_run(std::int64_t number, double step_s, AttemptState state = AttemptState::ok) {
    ExampleRun example{.attempt = example_attempt("cell", number)};
    example.attempt.sweep_kind = SweepKind::comparison;
    example.attempt.state = state;
    example.step_s = {0.9, step_s, step_s, step_s, step_s, step_s};
    const auto folder = scratch_ / std::to_string(number);
    write_run_directory(folder, example);
    const auto record = read_attempt(folder);
    return store_side_run(db_, folder, *record);
  }

  ScratchFolder scratch_;
  Connection db_ = open_database(scratch_ / "a.db");
  ComparisonRecord comparison_{.comparison_id = "ab", .matrix = "m", .settings = "s", .seed = ~std::uint64_t{0}};
};

TEST_F(StoredAbReportTest, ARunningComparisonHasThePairsSoFar) {
  ExecutedPair kept{.cell = 1, .a = side_run(1, 0.5), .b = side_run(2, 0.6)};
  ExecutedPair discarded{.cell = 1, .number = 2, .a = side_run(3, 0.5), .b = side_run(4, 0.5)};
  discarded.discard = Discard::steal;
  discarded.discarded = "A was robbed";
  ExecutedPair failed{.cell = 1, .number = 3, .a = kept.a, .b = side_run(5, 0.5, AttemptState::crashed)};
  failed.discard = Discard::failed;
  failed.discarded = "B crashed";
  for (const auto& pair : {kept, discarded, failed}) add_pair(db_, comparison_.key, "second", pair);
  add_pair(db_, comparison_.key, "first", {.cell = 0, .a = kept.a, .b = kept.b});
  const auto found = stored_ab_report(db_, "ab");
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->finished);
  const auto& cells = found->cells;
  ASSERT_THAT(cells, SizeIs(2));
  EXPECT_EQ(cells[0].label, "first");
  EXPECT_EQ(cells[1].label, "second");
  EXPECT_EQ(cells[1].pairs_used, 1U);
  ASSERT_THAT(cells[1].pairs_seen, SizeIs(3));
  EXPECT_NEAR(cells[1].pairs_seen[0].step_ratio.value(), 1.2, 1e-12);
  EXPECT_EQ(cells[1].discarded.at(Discard::steal).first, "A was robbed");
  EXPECT_THAT(cells[1].metrics, IsEmpty());
  EXPECT_THAT(cells[1].notes, ElementsAre(HasSubstr("B failed 1 times: crashed")));
}

TEST_F(StoredAbReportTest, AFinishedComparisonHasItsVerdicts) {
  MetricVerdict time{.rule = metric_rule("step_time_s"), .a_median = 0.5, .b_median = 0.6, .pairs = 4};
  time.rule.margin_fraction = 0.03;
  time.decided.pairs_needed = 9;
  time.decided.decision = {.verdict = Verdict::inconclusive,
                           .reason = VerdictReason::too_few_runs,
                           .detail = "four pairs",
                           .ratio = 1.2,
                           .ratio_95 = Interval{.low = 1.1, .high = 1.3},
                           .p = 0.25,
                           .detectable_fraction = 0.04};
  MetricVerdict loss{.rule = metric_rule("final_loss"), .pairs = 4};
  loss.decided.decision.verdict = Verdict::same;
  CellVerdict cell{.label = "cell",
                   .apart_because = "they do not fit",
                   .metrics = {loss, time},
                   .pairs_used = 4,
                   .notes = {"contaminated: by A"}};
  CellVerdict failed{.label = "failed", .whole = Decision{.verdict = Verdict::regressed, .detail = "B fails"}};
  finish_comparison(db_, comparison_, {cell, failed}, {.looks = {4, 12}});

  const auto found = stored_ab_report(db_, "ab");
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->finished);
  const auto& comparison = found->comparison;
  const auto& cells = found->cells;
  EXPECT_EQ(comparison.seed, comparison_.seed);
  EXPECT_EQ(comparison.a.asked, "HEAD~1");
  EXPECT_EQ(comparison.a.kind, SideKind::revision);
  EXPECT_EQ(comparison.a.git_commit, comparison_.a.git_commit);
  EXPECT_EQ(comparison.b.asked, "current");
  ASSERT_THAT(cells, SizeIs(2));
  ASSERT_THAT(cells[0].metrics, SizeIs(2));
  const auto& step = cells[0].metrics[0];
  EXPECT_EQ(step.rule.metric, "step_time_s") << "in the order of the catalog";
  EXPECT_EQ(step.rule.margin_fraction, 0.03);
  EXPECT_EQ(step.a_median, 0.5);
  EXPECT_EQ(step.b_median, 0.6);
  EXPECT_EQ(step.pairs, 4U);
  EXPECT_EQ(step.decided.pairs_needed, 9U);
  const auto& decision = step.decided.decision;
  EXPECT_EQ(decision.verdict, Verdict::inconclusive);
  EXPECT_EQ(decision.reason, VerdictReason::too_few_runs);
  EXPECT_EQ(decision.detail, "four pairs");
  EXPECT_EQ(decision.ratio, 1.2);
  EXPECT_EQ(decision.ratio_95->low, 1.1);
  EXPECT_EQ(decision.ratio_95->high, 1.3);
  EXPECT_EQ(decision.p, 0.25);
  EXPECT_EQ(decision.detectable_fraction, 0.04);
  EXPECT_EQ(cells[0].metrics[1].decided.decision.verdict, Verdict::same);
  EXPECT_FALSE(cells[0].whole.has_value());
  EXPECT_EQ(cells[1].whole->verdict, Verdict::regressed);
  EXPECT_EQ(cells[1].whole->detail, "B fails");
  EXPECT_THAT(cells[0].notes, ElementsAre("contaminated: by A"));
  EXPECT_EQ(cells[0].apart_because, "they do not fit");

  const auto judgement = find_judgement(db_, "ab");
  ASSERT_TRUE(judgement.has_value());
  EXPECT_EQ(judgement->kind, JudgementKind::pairs);
  const auto said = [&](const std::string& of, const std::string& metric, LedgerPart part) {
    std::string out;
    for (const auto& line : judgement->lines) {
      if (line.cell == of && line.metric == metric && line.part == part) out += line.text + "\n";
    }
    return out;
  };
  EXPECT_THAT(said("", "", LedgerPart::reference), HasSubstr("A: HEAD~1 (revision " + comparison_.a.git_commit));
  EXPECT_THAT(said("", "", LedgerPart::rule), HasSubstr("level 0.01 over all looks of a metric, and over 2 tested"));
  EXPECT_THAT(said("", "", LedgerPart::rule), HasSubstr("looks at 4, 12 pairs"));
  EXPECT_EQ(said("cell", "", LedgerPart::rule), "pairs one after the other: they do not fit\n");
  EXPECT_EQ(said("cell", "", LedgerPart::note), "contaminated: by A\n");
  EXPECT_THAT(said("cell", "step_time_s", LedgerPart::rule), HasSubstr("margin 3.0 %"));
  EXPECT_THAT(said("cell", "step_time_s", LedgerPart::look), HasSubstr("decided on 4 pairs; 9 would find the margin"));
  EXPECT_EQ(said("cell", "step_time_s", LedgerPart::answer), "INCONCLUSIVE (too_few_runs): four pairs\n");
  EXPECT_THAT(said("failed", "", LedgerPart::answer), HasSubstr("REGRESSED"));
}

TEST_F(StoredAbReportTest, AnotherVersionIsNotGuessed) {
  finish_comparison(db_, comparison_, {{.label = "cell", .whole = Decision{}}});
  db_.execute("UPDATE ab_verdicts SET verdict = 'SOMEWHAT'");
  EXPECT_THROW(stored_ab_report(db_, "ab"), UnreadableRow);
}

TEST_F(StoredAbReportTest, AnUnknownComparisonHasNone) {
  EXPECT_FALSE(stored_ab_report(db_, "another").has_value());
}

}  // namespace
}  // namespace perfbench::harness
