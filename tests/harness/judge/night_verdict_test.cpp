// The result for each kind of finding after the pairs of the night.
#include "harness/judge/night_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/night_cells.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Finding finding(FindingKind kind, const std::string& metric = "step_time_s", const std::string& cell = "c") {
  Finding out;
  out.series = {.matrix = "m", .cell = cell, .run_id = "r", .metric = metric, .machine = "x"};
  out.kind = kind;
  out.ratio = 1.5;
  out.last_good.sweep_id = "good";
  out.first_bad.sweep_id = "bad";
  return out;
}

MetricVerdict judged(const std::string& metric, Verdict verdict) {
  MetricVerdict out{.rule = {.metric = metric}};
  out.decided.decision.verdict = verdict;
  out.decided.decision.ratio = 1.2;
  out.decided.decision.ratio_95 = Interval{.low = 1.1, .high = 1.3};
  out.decided.decision.detail = "as the pairs say";
  return out;
}

NightComparison pairs_of(std::vector<MetricVerdict> metrics) {
  CellVerdict cell;
  cell.label = "c";
  cell.metrics = std::move(metrics);
  cell.attribution = Attribution{.a_s = 1,
                                 .b_s = 3,
                                 .shares = {{.name = "w", .a_s = 0, .b_s = 1},
                                            {.name = "x", .a_s = 0, .b_s = 0.5},
                                            {.name = "y", .a_s = 0, .b_s = 0.4},
                                            {.name = "z", .a_s = 0, .b_s = 0.1}}};
  return {.comparison_id = "ab1", .cells = {cell}, .answers = {{"c", "good"}}};
}

NightFinding weighed(FindingKind kind, Verdict verdict) {
  const auto all = weigh_findings({finding(kind)}, {pairs_of({judged("step_time_s", verdict)})}, {});
  EXPECT_THAT(all, SizeIs(1));
  return all.front();
}

TEST(NightVerdict, PairsWithTheControlFindACreepUnlessItIsKnown) {
  const auto memory = finding(FindingKind::regression, "peak_memory_bytes");
  const std::vector<Finding> measured{finding(FindingKind::regression), memory,
                                      finding(FindingKind::regression, "step_time_s", "another")};
  const auto pairs =
      pairs_of({judged("step_time_s", Verdict::regressed), judged("peak_memory_bytes", Verdict::regressed)});
  const auto crept = weigh_creep(measured, pairs, {});
  ASSERT_THAT(crept, SizeIs(2));
  EXPECT_EQ(crept[0].finding.ratio, 1.2);
  EXPECT_THAT(crept[0].finding.attribution, SizeIs(3));
  EXPECT_EQ(crept[1].finding.kind, FindingKind::memory);
  EXPECT_EQ(overall(verdicts_of(crept)), Verdict::regressed);
  EXPECT_THAT(weigh_creep(measured, pairs, {crept[0]}), SizeIs(1)) << "it is a finding of tonight already";
  auto better = crept[0];
  better.finding.kind = FindingKind::improvement;
  EXPECT_THAT(weigh_creep(measured, pairs, {better}), SizeIs(2)) << "better than yesterday, worse than the control";
  EXPECT_THAT(weigh_creep(measured, pairs_of({judged("step_time_s", Verdict::improved)}), {}), IsEmpty());
}

TEST(MeanStep, IsNotSaidWhereTheMedianStepSaysTheSame) {
  const auto median = finding(FindingKind::regression);
  const auto mean = finding(FindingKind::regression, "step_time_mean_s");
  EXPECT_THAT(without_repeats({median, mean}), SizeIs(1));
  EXPECT_EQ(without_repeats({median, mean})[0].series.metric, "step_time_s");
  EXPECT_THAT(without_repeats({mean}), SizeIs(1)) << "a stall";
  EXPECT_THAT(without_repeats({finding(FindingKind::improvement), mean}), SizeIs(2)) << "quicker, with stalls";
  EXPECT_THAT(without_repeats({finding(FindingKind::regression, "step_time_s", "another"), mean}), SizeIs(2));
}

TEST(MeanStep, LeavesNoCellUnseenThatWasStoredBeforeIt) {
  const auto median = finding(FindingKind::regression);
  const auto mean = finding(FindingKind::regression, "step_time_mean_s");
  EXPECT_THAT(that_need_pairs({mean}), IsEmpty()) << "the median step of this cell is screened";
  EXPECT_THAT(that_need_pairs({median, mean}), SizeIs(2)) << "a new cell";
}

TEST(MeanStep, IsOneFindingWithTheMedianInPairs) {
  const auto median = finding(FindingKind::regression);
  const auto mean = finding(FindingKind::regression, "step_time_mean_s");
  const auto both =
      pairs_of({judged("step_time_s", Verdict::regressed), judged("step_time_mean_s", Verdict::regressed)});
  const auto stall = pairs_of({judged("step_time_s", Verdict::same), judged("step_time_mean_s", Verdict::regressed)});
  EXPECT_THAT(weigh_creep({median, mean}, both, {}), SizeIs(1));
  EXPECT_THAT(weigh_creep({median, mean}, stall, {}), SizeIs(1));
  EXPECT_THAT(weigh_unscreened({median, mean}, {both}, {}, {}).worse, SizeIs(1));
  EXPECT_THAT(weigh_unscreened({median, mean}, {stall}, {}, {}).worse, SizeIs(1));
}

// Stalls move the mean step and the 90th percentile together.
TEST(MeanStep, SpeaksForThePercentileToo) {
  const auto with = [](Verdict of_median, Verdict of_mean) {
    const auto pairs = pairs_of({judged("step_time_s", of_median), judged("step_time_mean_s", of_mean),
                                 judged("step_time_p90_s", Verdict::regressed)});
    std::vector<std::string> out;
    for (const auto& found : weigh_findings({finding(FindingKind::memory, "peak_memory_bytes")}, {pairs}, {})) {
      if (found.finding.series.metric.starts_with("step_")) out.push_back(found.finding.series.metric);
    }
    return out;
  };
  EXPECT_THAT(with(Verdict::regressed, Verdict::regressed), testing::ElementsAre("step_time_s"));
  EXPECT_THAT(with(Verdict::same, Verdict::regressed), testing::ElementsAre("step_time_mean_s"));
  EXPECT_THAT(with(Verdict::same, Verdict::same), testing::ElementsAre("step_time_p90_s"));
}

TEST(MoreNoise, IsAFindingThatChangesNeitherTheVerdictNorTheAlerts) {
  const NightFinding noisier{.finding = finding(FindingKind::noisier), .confirmation = Confirmation::not_needed};
  EXPECT_FALSE(makes_alert(noisier));
  EXPECT_EQ(overall(verdicts_of({noisier})), Verdict::same);
  const auto cells = judge_cells("m", {{.cell = "c", .screened_against = 99}}, {noisier}, {}, {});
  ASSERT_THAT(cells, SizeIs(1));
  EXPECT_EQ(cells[0].state, CellState::same);
  EXPECT_EQ(cells[0].why, "screened with 99 previous nights");
}

TEST(WeighCreep, BlamesNoCommitFromBeforeTheNightsBeganToCreep) {
  const NightId control{.sweep_id = "c", .started_utc = "2026-01-01T00:00:00Z", .revision = "r1"};
  Finding steady;
  ask_since(steady, "the control", control);
  EXPECT_EQ(steady.last_good.sweep_id, "c");
  EXPECT_EQ(steady.detail, "crept since the control of 2026-01-01");
  Finding creeping;
  creeping.last_good = {.sweep_id = "n", .started_utc = "2026-03-01T00:00:00Z", .revision = "r60"};
  ask_since(creeping, "the control", control);
  EXPECT_EQ(creeping.last_good.sweep_id, "n");
  EXPECT_EQ(creeping.detail, "crept since the control of 2026-01-01, night by night since 2026-03-01");
  creeping.last_good.started_utc = "2025-12-01T00:00:00Z";
  ask_since(creeping, "the control", control);
  EXPECT_EQ(creeping.last_good.sweep_id, "c") << "the engine of that night was already compared";
}

TEST(NightVerdict, PairsDecideSeriesWithTooFewNightsAndTheRestIsUnseen) {
  const auto of = [](const std::string& metric, const std::string& cell = "c") {
    return finding(FindingKind::regression, metric, cell);
  };
  const std::vector<Finding> series{
      of("step_time_s"),          of("peak_memory_bytes"),       of("startup_time_s"),
      of("final_loss"),           of("resident_bytes"),          of("step_time_s", "same engine"),
      of("step_time_s", "first"), of("startup_time_s", "first"), of("step_time_s", "forgotten")};
  const auto pairs =
      pairs_of({judged("step_time_s", Verdict::regressed), judged("peak_memory_bytes", Verdict::same),
                judged("startup_time_s", Verdict::inconclusive), judged("final_loss", Verdict::improved)});
  const NoPairs none{{{"same engine", "good"}, {Confirmation::refuted, "bit for bit"}},
                     {{"first", "good"}, {Confirmation::unconfirmed, "its first night"}}};
  const auto out = weigh_unscreened(series, {pairs}, none, {});
  ASSERT_THAT(out.worse, SizeIs(1));
  EXPECT_EQ(out.worse[0].finding.series.metric, "step_time_s");
  EXPECT_EQ(out.worse[0].confirmation, Confirmation::confirmed);
  EXPECT_EQ(out.worse[0].finding.ratio, 1.2);
  ASSERT_THAT(out.unseen, SizeIs(5));
  const auto expect = [&](std::size_t i, const std::string& cell, const std::vector<std::string>& metrics,
                          const std::string& why) {
    EXPECT_EQ(out.unseen[i].cell, cell);
    EXPECT_EQ(out.unseen[i].metrics, metrics);
    EXPECT_THAT(out.unseen[i].why, HasSubstr(why));
  };
  expect(0, "c", {"startup_time_s"}, "as the pairs say");
  EXPECT_TRUE(out.unseen[0].undecided);
  EXPECT_FALSE(out.unseen[1].undecided || out.unseen[2].undecided);
  expect(1, "c", {"resident_bytes"}, "did not measure");
  expect(2, "same engine", {"step_time_s"}, "bit for bit");
  expect(3, "first", {"step_time_s", "startup_time_s"}, "its first night");
  expect(4, "forgotten", {"step_time_s"}, "not compared");
  EXPECT_THAT(weigh_unscreened(series, {pairs}, none, out.worse).worse, IsEmpty()) << "it is said already";
  EXPECT_EQ(overall(verdicts_of({}, {}, out.unseen)), Verdict::inconclusive);
  EXPECT_EQ(overall(verdicts_of(out.worse, {}, out.unseen)), Verdict::regressed);
  EXPECT_EQ(overall(verdicts_of({}, {}, {})), Verdict::same);
}

// Both sides of a pair run with tonight's libraries, so equal sides say nothing about an upgrade.
TEST(NightVerdict, IfLibrariesChangedThenNothingIsRefuted) {
  const LibraryChanges changes{{{"c", "good"}, "libraries.oneDNN 2.6 -> 3.1"}, {{"same engine", "good"}, "mpi 4 -> 5"}};
  const auto slow = finding(FindingKind::regression);
  const auto same = finding(FindingKind::regression, "step_time_s", "same engine");
  const NoPairs bit_for_bit{{{"same engine", "good"}, {Confirmation::refuted, "bit for bit"}}};
  const auto pairs = pairs_of({judged("step_time_s", Verdict::same)});
  const auto weighed = weigh_findings({slow, same}, {pairs}, bit_for_bit, changes);
  ASSERT_THAT(weighed, SizeIs(2));
  EXPECT_EQ(weighed[0].confirmation, Confirmation::undecided);
  EXPECT_THAT(weighed[0].why, HasSubstr("libraries.oneDNN 2.6 -> 3.1"));
  EXPECT_EQ(weighed[1].confirmation, Confirmation::undecided);
  EXPECT_THAT(weighed[1].why, HasSubstr("bit for bit"));
  EXPECT_THAT(weighed[1].why, HasSubstr("mpi 4 -> 5"));
  EXPECT_EQ(overall(verdicts_of(weighed)), Verdict::inconclusive);
  const auto open = weigh_unscreened({slow, same}, {pairs}, bit_for_bit, {}, changes);
  ASSERT_THAT(open.unseen, SizeIs(2));
  EXPECT_THAT(open.unseen[0].why, HasSubstr("libraries.oneDNN 2.6 -> 3.1"));
  EXPECT_THAT(open.unseen[1].why, HasSubstr("mpi 4 -> 5"));
  const auto worse = pairs_of({judged("step_time_s", Verdict::regressed)});
  EXPECT_EQ(weigh_findings({slow}, {worse}, {}, changes).at(0).confirmation, Confirmation::confirmed)
      << "the code is slower as well";
  EXPECT_THAT(weigh_unscreened({slow}, {worse}, {}, {}, changes).worse, SizeIs(1));
}

// A cell whose step time shifted yesterday and whose memory shifted last week: each is compared with its own last good
// engine.
TEST(NightVerdict, EachOfTwoShiftsOfACellIsDecidedByItsOwnPairs) {
  const auto slow = finding(FindingKind::regression);
  auto fat = finding(FindingKind::memory, "peak_memory_bytes");
  fat.last_good.sweep_id = "last week";
  auto yesterday = pairs_of({judged("step_time_s", Verdict::regressed), judged("peak_memory_bytes", Verdict::same)});
  auto last_week = pairs_of({judged("step_time_s", Verdict::same), judged("peak_memory_bytes", Verdict::regressed)});
  last_week.comparison_id = "ab2";
  last_week.answers = {{"c", "last week"}};
  for (const auto& comparisons : {std::vector{yesterday, last_week}, std::vector{last_week, yesterday}}) {
    const auto all = weigh_findings({slow, fat}, comparisons, {});
    ASSERT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].confirmation, Confirmation::confirmed);
    EXPECT_THAT(all[0].finding.confirmation, testing::ElementsAre("ab1"));
    EXPECT_EQ(all[1].confirmation, Confirmation::confirmed);
    EXPECT_THAT(all[1].finding.confirmation, testing::ElementsAre("ab2"));
  }
  const NoPairs gone{{{"c", "last week"}, {Confirmation::unconfirmed, "not in the archive"}}};
  const auto one = weigh_findings({slow, fat}, {yesterday}, gone);
  EXPECT_EQ(one[0].confirmation, Confirmation::confirmed);
  EXPECT_EQ(one[1].confirmation, Confirmation::unconfirmed) << "yesterday's pairs say nothing about last week's engine";
}

TEST(NightVerdict, PairsThatShowTheSameConfirmAndBringTheirEvidence) {
  const auto found = weighed(FindingKind::regression, Verdict::regressed);
  EXPECT_EQ(found.confirmation, Confirmation::confirmed);
  EXPECT_EQ(found.finding.ratio, 1.2);
  EXPECT_EQ(found.finding.ratio_low, 1.1);
  EXPECT_EQ(found.finding.ratio_high, 1.3);
  EXPECT_THAT(found.finding.confirmation, testing::ElementsAre("ab1"));
  ASSERT_THAT(found.finding.attribution, SizeIs(3));  // the three largest
  EXPECT_EQ(found.finding.attribution[0].name, "w");
  EXPECT_DOUBLE_EQ(found.finding.attribution[0].ns, 1e9);
  EXPECT_DOUBLE_EQ(found.finding.attribution[0].share, 0.5);
  EXPECT_TRUE(makes_alert(found));
  EXPECT_EQ(overall(verdicts_of({found})), Verdict::regressed);
}

TEST(NightVerdict, PairsThatShowNothingRefuteAndPairsThatCannotTellDoNot) {
  for (const auto verdict : {Verdict::same, Verdict::improved}) {
    const auto found = weighed(FindingKind::regression, verdict);
    EXPECT_EQ(found.confirmation, Confirmation::refuted);
    EXPECT_EQ(found.why, "as the pairs say");
    EXPECT_THAT(found.finding.confirmation, IsEmpty());
    EXPECT_FALSE(makes_alert(found));
    EXPECT_EQ(overall(verdicts_of({found})), Verdict::same);
  }
  const auto undecided = weighed(FindingKind::regression, Verdict::inconclusive);
  EXPECT_EQ(undecided.confirmation, Confirmation::undecided);
  EXPECT_FALSE(makes_alert(undecided));
  EXPECT_EQ(overall(verdicts_of({undecided})), Verdict::inconclusive);
}

TEST(NightVerdict, AnImprovementIsConfirmedByAnImprovementAndFailsNothing) {
  const auto better = weighed(FindingKind::improvement, Verdict::improved);
  EXPECT_EQ(better.confirmation, Confirmation::confirmed);
  EXPECT_EQ(overall(verdicts_of({better})), Verdict::same);
  EXPECT_EQ(weighed(FindingKind::improvement, Verdict::same).confirmation, Confirmation::refuted);
}

TEST(NightVerdict, AFailingSideAffectsTheWholeCell) {
  auto pairs = pairs_of({});
  pairs.cells[0].whole = Decision{.verdict = Verdict::regressed, .detail = "B crashed"};
  const auto all = weigh_findings({finding(FindingKind::regression)}, {pairs}, {});
  EXPECT_EQ(all.front().confirmation, Confirmation::confirmed);
  EXPECT_EQ(all.front().why, "B crashed");
  pairs.cells[0].whole->verdict = Verdict::not_comparable;
  EXPECT_EQ(weigh_findings({finding(FindingKind::regression)}, {pairs}, {}).front().confirmation,
            Confirmation::undecided);
}

TEST(NightVerdict, FindingsThatWereNotComparedAreKeptWithTheReason) {
  const auto all = weigh_findings({finding(FindingKind::memory, "peak_memory_bytes")}, {},
                                  {{{"c", "good"}, {Confirmation::unconfirmed, "no engine"}}});
  EXPECT_EQ(all.front().confirmation, Confirmation::unconfirmed);
  EXPECT_EQ(all.front().why, "no engine");
  EXPECT_EQ(overall(verdicts_of(all)), Verdict::inconclusive);
  const NoPairs same_engine{{{"c", "good"}, {Confirmation::refuted, "the same engine"}}};
  EXPECT_EQ(overall(verdicts_of(weigh_findings({finding(FindingKind::regression)}, {}, same_engine))), Verdict::same);
  const auto other = weigh_findings({finding(FindingKind::loss, "final_loss")},
                                    {pairs_of({judged("step_time_s", Verdict::same)})}, {});
  EXPECT_EQ(other.front().confirmation, Confirmation::undecided);
  EXPECT_THAT(other.front().why, HasSubstr("did not measure final_loss"));
}

TEST(NightVerdict, VanishedCellsNeedNoPairsAndAChangeOfTheMachineIsNotARegression) {
  const auto all = weigh_findings({finding(FindingKind::vanished_cell), finding(FindingKind::environment)}, {}, {});
  EXPECT_EQ(all[0].confirmation, Confirmation::not_needed);
  EXPECT_EQ(all[1].confirmation, Confirmation::not_needed);
  EXPECT_EQ(overall(verdicts_of({all[0]})), Verdict::regressed);
  EXPECT_EQ(overall(verdicts_of({all[1]})), Verdict::inconclusive);
  EXPECT_EQ(overall(verdicts_of(std::vector<NightFinding>{})), Verdict::same);
}

// The probe runs inside the engine: an engine that keeps the cores busy slows the probe as well.
TEST(NightVerdict, TheProbeDoesNotExcuseAnEngineThatPairsShowToBeSlower) {
  const auto slow = weighed(FindingKind::environment, Verdict::regressed);
  EXPECT_EQ(slow.finding.kind, FindingKind::regression);
  EXPECT_EQ(slow.confirmation, Confirmation::confirmed);
  EXPECT_EQ(slow.finding.ratio, 1.2);
  EXPECT_EQ(weighed(FindingKind::environment, Verdict::improved).finding.kind, FindingKind::improvement);
  const auto machine = weighed(FindingKind::environment, Verdict::same);
  EXPECT_EQ(machine.finding.kind, FindingKind::environment);
  EXPECT_EQ(machine.confirmation, Confirmation::not_needed);
  EXPECT_EQ(weighed(FindingKind::environment, Verdict::inconclusive).confirmation, Confirmation::undecided);
  const auto without = [](Confirmation confirmation) {
    return weigh_findings({finding(FindingKind::environment)}, {}, {{{"c", "good"}, {confirmation, "why"}}}).front();
  };
  EXPECT_EQ(without(Confirmation::refuted).confirmation, Confirmation::not_needed) << "the engine is the same";
  EXPECT_EQ(without(Confirmation::unconfirmed).confirmation, Confirmation::unconfirmed) << "nobody looked";
}

TEST(NightVerdict, ARefutedShiftThatLastsIsAChangeOfTheMachine) {
  auto slow = finding(FindingKind::regression);
  slow.environment = {{.field = "kernel", .left = "6.1", .right = "6.5"}};
  const LastingShifts lasting{{{"c", "step_time_s"}, "seen on 3 nights"}};
  const NoPairs same_engine{{{"c", "good"}, {Confirmation::refuted, "bit for bit"}}};
  const auto all =
      weigh_findings({slow, finding(FindingKind::memory, "peak_memory_bytes")}, {}, same_engine, {}, lasting);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].finding.kind, FindingKind::environment);
  EXPECT_EQ(all[0].confirmation, Confirmation::not_needed);
  EXPECT_EQ(
      all[0].why,
      "bit for bit; the shift is not an accident either (seen on 3 nights): the machine or something on it changed: "
      "kernel 6.1 -> 6.5");
  EXPECT_EQ(overall(verdicts_of({all[0]})), Verdict::inconclusive);
  EXPECT_EQ(all[1].confirmation, Confirmation::refuted) << "of one night";
  const auto by_pairs =
      weigh_findings({slow}, {pairs_of({judged("step_time_s", Verdict::same)})}, {}, {}, lasting).front();
  EXPECT_EQ(by_pairs.finding.kind, FindingKind::environment);
  const auto faster = weigh_findings({finding(FindingKind::improvement)}, {}, same_engine, {}, lasting).front();
  EXPECT_EQ(faster.confirmation, Confirmation::refuted) << "nobody has to look";
}

TEST(NightVerdict, OtherRegressionsOfThePairsAreReportedOnce) {
  const auto pairs = pairs_of({judged("step_time_s", Verdict::regressed), judged("tokens_per_s", Verdict::regressed),
                               judged("peak_memory_bytes", Verdict::regressed), judged("final_loss", Verdict::same),
                               judged("startup_time_s", Verdict::improved)});
  const auto all =
      weigh_findings({finding(FindingKind::regression), finding(FindingKind::startup, "startup_time_s")}, {pairs}, {});
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[1].finding.series.metric, "peak_memory_bytes");
  EXPECT_EQ(all[1].finding.kind, FindingKind::memory);
  EXPECT_EQ(all[1].confirmation, Confirmation::confirmed);
  EXPECT_THAT(all[1].finding.attribution, IsEmpty());
  EXPECT_EQ(all[2].confirmation, Confirmation::refuted);
}

TEST(NightVerdict, IsNeverTheSameWhereAnEngineItNeededDidNotRun) {
  EXPECT_EQ(overall(verdicts_of(std::vector<NightFinding>{})), Verdict::same);
  EXPECT_EQ(overall(verdicts_of(std::vector<NightFinding>{}, {"The control did not run"})), Verdict::inconclusive);
  const auto vanished = weigh_findings({finding(FindingKind::vanished_cell)}, {}, {});
  EXPECT_EQ(overall(verdicts_of(vanished, {"The control did not run"})), Verdict::regressed);
}

}  // namespace
}  // namespace perfbench::harness
