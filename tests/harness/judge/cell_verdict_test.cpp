#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "harness/stats/decision.h"
#include "harness/stats/pairs.h"
#include "harness/system/input_error.h"
#include "tests/harness/pairs/made_up_runs.h"

namespace perfbench::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(PairOrder, IsBalancedInEveryFourAndRandomFromTheSeedAlone) {
  constexpr std::size_t kBlocks = 600;
  std::map<std::string, std::size_t> orders;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    std::string order;
    for (std::size_t i = 1; i <= 4; ++i) {
      const auto first = first_side(7, 3, 4 * block + i);
      EXPECT_EQ(first, first_side(7, 3, 4 * block + i));
      order += spec::enum_name(first);
    }
    EXPECT_EQ(std::count(order.begin(), order.end(), 'A'), 2);
    ++orders[order];
  }
  EXPECT_THAT(orders, testing::SizeIs(6));
  // Four standard deviations of one in six of 600: 4 * sqrt(600 * 5 / 36) = 37.
  for (const auto& [order, count] : orders) EXPECT_NEAR(static_cast<double>(count), 100, 37) << order;
  std::size_t equal = 0;
  for (std::size_t place = 1; place <= 1000; ++place) equal += first_side(7, 3, place) == first_side(8, 3, place);
  // Orders of two seeds agree in half of all places; 4 * sqrt(1000 / 4) = 63, and the balance only reduces it.
  EXPECT_NEAR(static_cast<double>(equal), 500, 63) << "another seed has another order";
}

class SpoiledPair : public testing::Test {
 protected:
  ExecutedPair pair_ = made_up_pair(1, made_up_run(1), made_up_run(1));
  std::string why() const { return why_discarded(pair_, SpoilRule{}).why; }
};

TEST_F(SpoiledPair, TwoQuietRunsAreNotSpoiled) {
  pair_.a.metrics["probe_spread_fraction"] = pair_.b.metrics["probe_spread_fraction"] = 0.4;
  pair_.a.metrics["probe_time_s"] = 0.001;
  pair_.b.metrics["probe_time_s"] = 0.00108;
  pair_.a.load = pair_.b.load = {.steal_fraction = 0.01, .foreign_fraction = 0.05};
  EXPECT_EQ(why(), "");
}

TEST_F(SpoiledPair, NamesTheCauseForEitherSide) {
  for (const auto side : {Side::a, Side::b}) {
    const auto name = std::string(spec::enum_name(side));
    const auto with = [&](const auto& change) {
      pair_ = made_up_pair(1, made_up_run(1), made_up_run(1));
      change(pair_.of(side));
      return why();
    };
    EXPECT_EQ(with([](SideRun& run) { run.load.steal_fraction = 0.031; }),
              name + ": the hypervisor took 3.1 % of the cores' time");
    EXPECT_EQ(with([](SideRun& run) { run.load = {.foreign_fraction = 0.25, .busiest = "cc1plus (pid 7)"}; }),
              name + ": other processes used 25.0 % of the cores, the busiest cc1plus (pid 7)");
    EXPECT_EQ(with([](SideRun& run) { run.metrics["probe_spread_fraction"] = 0.6; }),
              name + ": the noise probe moved by 60.0 %");
    EXPECT_EQ(with([](SideRun& run) { run = crashed_run(); }), name + " crashed: signal 11");
    EXPECT_EQ(with([](SideRun& run) {
                run.state = AttemptState::quarantined;
                run.reason = "throttled by heat";
              }),
              name + " quarantined: throttled by heat");
  }
}

TEST_F(SpoiledPair, AMachineAtTwoSpeedsSpoilsThePair) {
  pair_.a.metrics["probe_time_s"] = 0.00100;
  pair_.b.metrics["probe_time_s"] = 0.00118;
  const auto slower = why();
  EXPECT_THAT(slower, HasSubstr("differ by 18.0 %"));
  std::swap(pair_.a, pair_.b);
  EXPECT_EQ(why(), slower);
}

// Both runs were disturbed in the same way.
TEST_F(SpoiledPair, APairInTurnsIsSpoiledOnlyByAFailedRun) {
  pair_.in_turns = true;
  pair_.a.load = pair_.b.load = {.steal_fraction = 0.5, .foreign_fraction = 0.5};
  pair_.a.metrics["probe_spread_fraction"] = 3;
  pair_.a.metrics["probe_time_s"] = 0.001;
  pair_.b.metrics["probe_time_s"] = 0.002;
  EXPECT_EQ(why(), "");
  pair_.b = crashed_run();
  EXPECT_EQ(why(), "B crashed: signal 11");
}

// By their medians B is twice as slow, by their turns 10 % slower. Eight of one side is the smallest number that the
// sign test distinguishes from chance at 0.01: 2 / 2^8 = 0.0078.
class OneSidedDiscards : public testing::Test {
 protected:
  // Four pairs of equal runs, preceded by the discarded ones: because of A's run, of B's, of both.
  static CellVerdict verdict(std::size_t of_a, std::size_t of_b, std::size_t of_both, const SideRun& spoiled) {
    std::vector<ExecutedPair> pairs;
    const auto add = [&](SideRun a, SideRun b) {
      auto pair = made_up_pair(pairs.size() + 1, std::move(a), std::move(b));
      const auto why = why_discarded(pair, SpoilRule{});
      pair.discard = why.discard;
      pair.discarded = why.why;
      pairs.push_back(std::move(pair));
    };
    for (std::size_t i = 0; i < of_a; ++i) add(spoiled, made_up_run(1));
    for (std::size_t i = 0; i < of_b; ++i) add(made_up_run(1), spoiled);
    for (std::size_t i = 0; i < of_both; ++i) add(spoiled, spoiled);
    for (int i = 0; i < 4; ++i) add(made_up_run(1), made_up_run(1.001));
    return judge_cell("c", pointers_to(pairs), made_up_rule(16));
  }
  static SideRun robbed() {
    auto run = made_up_run(1);
    run.load.steal_fraction = 0.05;
    return run;
  }
};

TEST_F(OneSidedDiscards, LeavePairsThatDecideNothing) {
  const auto cell = verdict(0, 8, 0, robbed());
  const auto& decision = decision_about(cell, "step_time_s");
  EXPECT_EQ(decision.verdict, Verdict::inconclusive);
  EXPECT_EQ(decision.reason, VerdictReason::one_sided_discards);
  EXPECT_THAT(decision.detail, HasSubstr("one run alone was spoiled in 8 pairs, and it was B's in 8 (p = 0.0078"));
  EXPECT_THAT(decision.detail, HasSubstr("B: the hypervisor took 5.0 % of the cores' time"));
  EXPECT_EQ(decision_about(cell, "final_loss").verdict, Verdict::same) << "which needs no calm machine";
  EXPECT_THAT(gate_refusals({cell}, made_up_rule(16)), testing::ElementsAre(HasSubstr("it was B's in 8")));
  EXPECT_EQ(decision_about(verdict(8, 0, 0, robbed()), "step_time_s").reason, VerdictReason::one_sided_discards);
  EXPECT_EQ(decision_about(verdict(0, 6, 0, robbed()), "step_time_s").reason, VerdictReason::one_sided_discards)
      << "p = 0.031";
}

TEST_F(OneSidedDiscards, AreNotDoubtedIfChanceExplainsThem) {
  for (const auto& [a, b] : {std::pair{0U, 5U}, {1U, 7U}, {5U, 5U}}) {
    EXPECT_EQ(decision_about(verdict(a, b, 0, robbed()), "step_time_s").verdict, Verdict::same) << a << " " << b;
  }
  EXPECT_EQ(decision_about(verdict(0, 0, 14, robbed()), "step_time_s").verdict, Verdict::same) << "of both";
  EXPECT_EQ(decision_about(verdict(8, 0, 0, crashed_run()), "step_time_s").verdict, Verdict::same)
      << "failures have a test of their own";
}

TEST_F(OneSidedDiscards, CountThrottledRunsAndTheSlowerOfTwoSpeeds) {
  auto throttled = made_up_run(1);
  throttled.state = AttemptState::quarantined;
  EXPECT_EQ(decision_about(verdict(0, 8, 0, throttled), "step_time_s").reason, VerdictReason::one_sided_discards);
  auto pair = made_up_pair(1, made_up_run(1), made_up_run(1));
  pair.a.metrics["probe_time_s"] = 0.001;
  pair.b.metrics["probe_time_s"] = 0.002;
  EXPECT_EQ(spoiled_alone(pair, SpoilRule{}), std::nullopt) << "of a pair that counts";
  pair.discard = Discard::other_speed;
  EXPECT_EQ(spoiled_alone(pair, SpoilRule{}), Side::b);
  std::swap(pair.a, pair.b);
  EXPECT_EQ(spoiled_alone(pair, SpoilRule{}), Side::a);
}

TEST(CellVerdict, ComparesTheStepTimesOfPairsInTurnsTurnByTurn) {
  std::vector<ExecutedPair> pairs;
  MadeUpNoise noise(3);
  for (std::size_t i = 1; i <= 8; ++i) {
    pairs.push_back(made_up_pair(i, made_up_run(1), made_up_run(2)));
    for (auto* run : {&pairs.back().a, &pairs.back().b}) {
      run->metrics["step_time_mean_s"] = run->metrics["step_time_s"] * 1.5;
      run->metrics["forward_time_s"] = run->metrics["step_time_s"] / 2;
    }
    pairs.back().in_turns = true;
    pairs.back().step_log_ratio = std::log(1.1) + noise(0.001);
  }
  AbRule rule;
  rule.metrics = metric_rules({"step_time_s", "step_time_mean_s", "forward_time_s"}, {});
  const auto cell = judge_cell("cell", pointers_to(pairs), rule);
  EXPECT_NEAR(*decision_about(cell, "step_time_s").ratio, 1.1, 0.0011);
  EXPECT_NEAR(*decision_about(cell, "step_time_mean_s").ratio, 2, 1e-9) << "stalls of a run are its own";
  EXPECT_NEAR(*decision_about(cell, "forward_time_s").ratio, 2, 1e-9) << "a part of the step is not the step";
}

class PairsInTurns : public testing::Test {
 protected:
  // Eight pairs that show no difference, whose sides were watched for one second in each pair.
  static std::vector<ExecutedPair> pairs(double a_cpu_s, double b_cpu_s) {
    std::vector<ExecutedPair> out;
    MadeUpNoise noise(3);
    for (std::size_t i = 1; i <= 8; ++i) {
      auto& pair = out.emplace_back(made_up_pair(i, made_up_run(1), made_up_run(1)));
      pair.in_turns = true;
      pair.step_log_ratio = noise(0.001);
      pair.a.waits = {.cpu_s = a_cpu_s, .wall_s = 1};
      pair.b.waits = {.cpu_s = b_cpu_s, .wall_s = 1};
    }
    return out;
  }
  static CellVerdict judged(const std::vector<ExecutedPair>& pairs) {
    return judge_cell("c", pointers_to(pairs), made_up_rule(8));
  }
};

TEST_F(PairsInTurns, ASideThatWorksInTheOthersStepsLeavesSpeedUndecided) {
  EXPECT_EQ(decision_about(judged(pairs(0.05, 0.05)), "step_time_s").verdict, Verdict::same);
  const auto busy = judged(pairs(0.01, 0.06));
  EXPECT_EQ(decision_about(busy, "step_time_s").verdict, Verdict::inconclusive);
  EXPECT_EQ(decision_about(busy, "step_time_s").reason, VerdictReason::busy_while_waiting);
  EXPECT_THAT(
      decision_about(busy, "step_time_s").detail,
      HasSubstr(
          "its threads used 6.0 % of a core while A stepped (0.48 of 8 s watched; a verdict allows at most 5.0 %"));
  EXPECT_EQ(decision_about(busy, "peak_memory_bytes").verdict, Verdict::same) << "which no thread touches";
  EXPECT_THAT(decision_about(judged(pairs(0.9, 0)), "step_time_s").detail, HasSubstr("A computed during B's steps"));
}

TEST_F(PairsInTurns, PairsThatWereHardlyWatchedAreNotDoubted) {
  auto few = pairs(0, 0);
  for (auto& pair : few) pair.b.waits = {.cpu_s = 0.001, .wall_s = 0.001};
  EXPECT_EQ(decision_about(judged(few), "step_time_s").verdict, Verdict::same) << "8 ms of 10";
}

TEST_F(PairsInTurns, AnOrderEffectIsReportedAsContamination) {
  const auto notes = [](double effect, double spread) {
    auto some = pairs(0, 0);
    MadeUpNoise noise(5);
    for (auto& pair : some) pair.order_log_effect = effect + noise(spread);
    const auto cell = judged(some);
    EXPECT_EQ(decision_about(cell, "step_time_s").verdict, Verdict::same) << "it is a warning";
    return cell.notes;
  };
  EXPECT_THAT(notes(0.03, 0.01),
              testing::ElementsAre(
                  testing::AllOf(HasSubstr("contaminated: "), HasSubstr("for B by 3."), HasSubstr("A leaves work"))));
  EXPECT_THAT(notes(-0.03, 0.01), testing::ElementsAre(HasSubstr("B leaves work")));
  EXPECT_THAT(notes(0.008, 0.001), IsEmpty()) << "certain, and too small to matter";
  EXPECT_THAT(notes(0.03, 0.3), IsEmpty()) << "large, and within chance";
}

// Every third step of B takes three times as long: its median is A's, and the mean of its steps is 1.67 times A's.
TEST(CellVerdict, StallsThatTheMedianHidesAreNotTheSame) {
  std::vector<ExecutedPair> pairs;
  MadeUpNoise noise(11);
  for (std::size_t i = 1; i <= 8; ++i) {
    pairs.push_back(made_up_pair(i, made_up_run(1 + noise(0.002)), made_up_run(1 + noise(0.002))));
    pairs.back().a.metrics["step_time_mean_s"] = 1 + noise(0.01);
    pairs.back().b.metrics["step_time_mean_s"] = 1.67 + noise(0.01);
  }
  const auto cell = judge_cell("cell", pointers_to(pairs), {.looks = looks_up_to(8)});
  EXPECT_EQ(decision_about(cell, "step_time_s").verdict, Verdict::same);
  EXPECT_EQ(decision_about(cell, "step_time_mean_s").verdict, Verdict::regressed);
  EXPECT_EQ(overall(verdicts_of({cell})), Verdict::regressed);
}

// Every eighth step of B takes 30 % longer: the mean grows by 3.75 %, which is inside its margin.
TEST(CellVerdict, StallsThatTheMeanHidesAreNotTheSame) {
  std::vector<ExecutedPair> pairs;
  MadeUpNoise noise(11);
  for (std::size_t i = 1; i <= 8; ++i) {
    pairs.push_back(made_up_pair(i, made_up_run(1 + noise(0.002)), made_up_run(1 + noise(0.002))));
    auto& a = pairs.back().a.metrics;
    auto& b = pairs.back().b.metrics;
    a["step_time_mean_s"] = 1 + noise(0.002);
    b["step_time_mean_s"] = 1.0375 + noise(0.002);
    a["step_time_p90_s"] = 1 + noise(0.01);
    b["step_time_p90_s"] = 1.3 + noise(0.01);
  }
  const auto cell = judge_cell("cell", pointers_to(pairs), {.looks = looks_up_to(8)});
  EXPECT_EQ(decision_about(cell, "step_time_mean_s").verdict, Verdict::same);
  EXPECT_EQ(decision_about(cell, "step_time_p90_s").verdict, Verdict::regressed);
}

TEST(CellVerdict, RunsWithoutAPercentileLeaveNothingUndecided) {
  std::vector<ExecutedPair> pairs;
  for (std::size_t i = 1; i <= 8; ++i) pairs.push_back(made_up_pair(i, made_up_run(1), made_up_run(1)));
  for (const auto& metric : judge_cell("cell", pointers_to(pairs), {.looks = looks_up_to(8)}).metrics) {
    EXPECT_NE(metric.rule.metric, "step_time_p90_s");
  }
  const AbRule asked{.metrics = metric_rules({"step_time_p90_s"}, {}), .looks = looks_up_to(8)};
  const auto cell = judge_cell("cell", pointers_to(pairs), asked);
  EXPECT_THAT(decision_about(cell, "step_time_p90_s").detail, HasSubstr("percentiles take 50 steady steps"));
}

TEST(CellVerdict, SaysThatTheStepsOfASideGrewDuringItsRuns) {
  std::vector<ExecutedPair> pairs;
  for (std::size_t i = 1; i <= 8; ++i) {
    pairs.push_back(made_up_pair(i, made_up_run(1), made_up_run(1)));
    pairs.back().a.metrics["step_time_trend_fraction"] = 0.02;
    pairs.back().b.metrics["step_time_trend_fraction"] = i == 1 ? 0.0 : 0.32;
  }
  EXPECT_THAT(
      judge_cell("cell", pointers_to(pairs), made_up_rule(8)).notes,
      testing::ElementsAre("B: its steps became 32.0 % slower during a run; longer runs may differ in another way"));
}

// At four pairs it is the same; the twelve that follow because of another metric say that it is slower.
TEST(CellVerdict, KeepsTheResultOfTheFirstLookThatDecided) {
  std::vector<ExecutedPair> pairs;
  MadeUpNoise noise(5);
  for (std::size_t i = 1; i <= 16; ++i) {
    pairs.push_back(made_up_pair(i, made_up_run(1 + noise(0.001)), made_up_run((i <= 4 ? 1 : 1.1) + noise(0.001))));
    for (auto* run : {&pairs.back().a, &pairs.back().b}) run->metrics["startup_time_s"] = 1 + noise(0.9);
  }
  AbRule rule;
  rule.metrics = metric_rules({"step_time_s", "startup_time_s"}, {});
  const auto cell = judge_cell("cell", pointers_to(pairs), rule);
  EXPECT_EQ(decision_about(cell, "step_time_s").verdict, Verdict::same);
  EXPECT_NEAR(*decision_about(cell, "step_time_s").ratio, 1, 0.002);
  EXPECT_EQ(cell.metrics.front().pairs, 4U);
  EXPECT_NEAR(*cell.metrics.front().b_median, 1, 0.002);
  EXPECT_EQ(decision_about(cell, "startup_time_s").current_runs, 16U);
  const auto again = judge_cell("cell", pointers_to(pairs), rule, {{"step_time_s", 16}});
  EXPECT_EQ(decision_about(again, "step_time_s").current_runs, 16U) << "another look was asked for";
}

MetricRule exact_loss() {
  return metric_rules({"final_loss"}, {}).front();
}

TEST(ExactMetric, IsTheSameOrNotWithoutATest) {
  const auto decide = [](double a, double b, const MetricRule& rule) {
    return decide_exact({b, b}, {a, a}, decision_rule(rule), Exactness::repeated);
  };
  EXPECT_EQ(decide(4.5, 4.5, exact_loss())->verdict, Verdict::same);
  EXPECT_EQ(decide(4.5, 4.5 * 1.001, exact_loss())->verdict, Verdict::same) << "within 0.2 %";
  EXPECT_EQ(decide(4.5, 4.5 * 1.003, exact_loss())->verdict, Verdict::regressed);
  EXPECT_EQ(decide(4.5, 4.5 / 1.003, exact_loss())->verdict, Verdict::improved);
  auto more_is_better = exact_loss();
  more_is_better.direction = spec::Direction::higher_is_better;
  EXPECT_EQ(decide(4.5, 4.5 / 1.003, more_is_better)->verdict, Verdict::regressed);
  const auto found = decide(4.0, 5.0, exact_loss());
  EXPECT_DOUBLE_EQ(*found->ratio, 1.25);
  EXPECT_EQ(found->reason, VerdictReason::exact);
  EXPECT_FALSE(found->p.has_value());
}

// No ratio can show it.
TEST(ExactMetric, ZeroOnOnlyOneSideIsDecided) {
  auto rule = metric_rules({"eval_accuracy"}, {}).front();
  const auto lost = decide_exact({0.0, 0.0}, {0.5, 0.5}, decision_rule(rule), Exactness::repeated);
  EXPECT_EQ(lost->verdict, Verdict::regressed);
  EXPECT_FALSE(lost->ratio);
  EXPECT_EQ(decide_exact({0.5, 0.5}, {0.0, 0.0}, decision_rule(rule), Exactness::repeated)->verdict, Verdict::improved);
  std::vector<ExecutedPair> pairs;
  for (std::size_t i = 1; i <= 4; ++i) {
    auto a = made_up_run(1);
    auto b = made_up_run(1);
    a.metrics["eval_accuracy"] = 0.5;
    b.metrics["eval_accuracy"] = 0.0;
    pairs.push_back(made_up_pair(i, a, b));
  }
  auto ab_rule = made_up_rule(4);
  ab_rule.metrics = metric_rules({}, {});
  EXPECT_EQ(decision_about(judge_cell("c", pointers_to(pairs), ab_rule), "eval_accuracy").verdict, Verdict::regressed);
}

// A run that evaluates nothing is judged by the metrics that it has, unless others were requested.
TEST(ExactMetric, EvaluationMetricsAreJudgedIfThereWasAnEvaluation) {
  std::vector<ExecutedPair> pairs;
  for (std::size_t i = 1; i <= 4; ++i) pairs.push_back(made_up_pair(i, made_up_run(1), made_up_run(1)));
  const auto judged = [&](const std::vector<std::string>& names) {
    auto rule = made_up_rule(4);
    rule.metrics = metric_rules(names, {});
    const auto cell = judge_cell("c", pointers_to(pairs), rule);
    return std::count_if(cell.metrics.begin(), cell.metrics.end(),
                         [](const auto& metric) { return metric.rule.metric == "eval_accuracy"; });
  };
  EXPECT_EQ(judged({}), 0);
  EXPECT_EQ(judged({"eval_accuracy"}), 1);
}

TEST(ExactMetric, AMetricThatDoesNotRepeatIsTreatedAsMeasured) {
  EXPECT_FALSE(decide_exact({4.5, 4.6}, {4.5, 4.5}, decision_rule(exact_loss()), Exactness::repeated).has_value());
  std::vector<ExecutedPair> pairs;
  for (std::size_t i = 1; i <= 8; ++i) {
    auto b = made_up_run(1);
    b.metrics["final_loss"] += 1e-6 * static_cast<double>(i);
    pairs.push_back(made_up_pair(i, made_up_run(1), b));
  }
  const auto cell = judge_cell("c", pointers_to(pairs), made_up_rule(8));
  EXPECT_EQ(decision_about(cell, "final_loss").reason, VerdictReason::equivalent);
}

TEST(ExactMetric, NeedsNoQuietMachine) {
  auto pair = made_up_pair(1, made_up_run(1), made_up_run(2));
  pair.discard = Discard::probe_moved;
  const std::vector<ExecutedPair> pairs{pair};
  const auto cell = judge_cell("c", pointers_to(pairs), made_up_rule(8));
  EXPECT_EQ(decision_about(cell, "peak_memory_bytes").verdict, Verdict::same);
  EXPECT_EQ(decision_about(cell, "step_time_s").verdict, Verdict::inconclusive);
  EXPECT_EQ(overall(verdicts_of({cell})), Verdict::inconclusive) << "memory alone is not a verdict on speed";
}

std::vector<ExecutedPair> failing_pairs(const SideRun& a, const SideRun& b, std::size_t count = 3) {
  std::vector<ExecutedPair> pairs;
  for (std::size_t i = 1; i <= count; ++i) {
    pairs.push_back(made_up_pair(i, a, b));
    pairs.back().discard = why_discarded(pairs.back(), SpoilRule{}).discard;
  }
  return pairs;
}

TEST(FailingSide, AFailingBIsARegressionAndAFailingALeavesNothingToCompare) {
  const auto verdict = [](std::size_t pairs, const SideRun& a, const SideRun& b) -> std::optional<Verdict> {
    const auto made = failing_pairs(a, b, pairs);
    const auto cell = judge_cell("c", pointers_to(made), made_up_rule(16));
    EXPECT_EQ(cell.final, cell.whole.has_value());
    if (!cell.whole) return std::nullopt;
    EXPECT_EQ(cell.whole->reason, VerdictReason::side_failed);
    return cell.whole->verdict;
  };
  // Fisher's p for 5 of 5 against none is 0.0079 and for 6 of 6 it is 0.0022; the level is 0.005.
  EXPECT_EQ(verdict(5, made_up_run(1), crashed_run()), std::nullopt);
  EXPECT_EQ(verdict(6, made_up_run(1), crashed_run()), Verdict::regressed);
  EXPECT_EQ(verdict(2, crashed_run(), made_up_run(1)), std::nullopt);
  EXPECT_EQ(verdict(3, crashed_run(), made_up_run(1)), Verdict::not_comparable);
  EXPECT_EQ(verdict(3, crashed_run(), crashed_run()), Verdict::not_comparable);
}

// Each run of either side fails with the same probability. Counts the verdicts of 400 such cells, each compared with up
// to 16 good pairs, for several probabilities. The level is one in a hundred; with 0.01, 4 of 400 are wrong on average,
// and more than 12 occur once in 5000 times (Poisson).
TEST(FailingSide, FailingAsOftenAsTheOtherIsNotARegression) {
  MadeUpNoise noise(11);
  auto rule = made_up_rule(16);
  rule.metrics.resize(1);
  for (const double chance : {0.3, 0.5, 0.7}) {
    int regressed = 0;
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<ExecutedPair> pairs;
      const auto run = [&] { return 0.5 + 0.5 * noise(1) < chance ? crashed_run() : made_up_run(1); };
      CellVerdict cell;
      while (!cell.final && pairs.size() < 32) {
        auto a = run();
        auto b = run();
        pairs.push_back(made_up_pair(pairs.size() + 1, std::move(a), std::move(b)));
        pairs.back().discard = why_discarded(pairs.back(), SpoilRule{}).discard;
        cell = judge_cell("c", pointers_to(pairs), rule, {{"step_time_s", 16}});
      }
      regressed += cell.whole && cell.whole->verdict == Verdict::regressed;
    }
    EXPECT_LE(regressed, 5) << chance;
  }
}

TEST(FailingSide, AThrottledGpuIsNotAFailure) {
  auto throttled = made_up_run(1);
  throttled.state = AttemptState::quarantined;
  const auto pairs = failing_pairs(made_up_run(1), throttled);
  const auto cell = judge_cell("c", pointers_to(pairs), made_up_rule(16));
  EXPECT_FALSE(cell.whole.has_value());
  EXPECT_EQ(cell.discarded.at(Discard::quarantined).count, 3U);
}

TEST(FailingSide, DivergingCountsAsFailingAndBothAreNamed) {
  const SideRun diverged{.state = AttemptState::diverged, .reason = "the loss became NaN at step 3"};
  const auto whole = [](const std::vector<ExecutedPair>& pairs) {
    return judge_cell("c", pointers_to(pairs), made_up_rule(16)).whole.value();
  };
  EXPECT_EQ(whole(failing_pairs(made_up_run(1), diverged, 6)).verdict, Verdict::regressed);
  auto with_times = diverged;  // its engine wrote them all the same
  with_times.metrics["step_time_s"] = 1;
  const auto pairs = failing_pairs(with_times, with_times);
  EXPECT_THAT(judge_cell("c", pointers_to(pairs), made_up_rule(16)).metrics, IsEmpty()) << "the cell says it all";
  const auto both = whole(failing_pairs(diverged, diverged));
  EXPECT_EQ(both.verdict, Verdict::not_comparable);
  EXPECT_EQ(both.detail,
            "A failed 3 of 3 times (diverged: the loss became NaN at step 3), "
            "B failed 3 of 3 times (diverged: the loss became NaN at step 3)");
}

TEST(CellVerdict, SaysWhyNoRunHasARequestedMetric) {
  auto rule = made_up_rule(8);
  rule.metrics = metric_rules({"bubble_time_s"}, {});
  const std::vector<ExecutedPair> pairs{made_up_pair(1, made_up_run(1), made_up_run(1))};
  const auto cell = judge_cell("c", pointers_to(pairs), rule);
  EXPECT_EQ(decision_about(cell, "bubble_time_s").verdict, Verdict::inconclusive);
  EXPECT_THAT(decision_about(cell, "bubble_time_s").detail, HasSubstr("no run has it: its run has no pipeline"));
}

TEST(CellVerdict, TakesTheMedianOfInstructionRatios) {
  std::vector<ExecutedPair> pairs;
  for (const std::int64_t b : {1010, 1020, 9000}) {
    auto one = made_up_run(1);
    auto other = made_up_run(1);
    one.instructions = 1000;
    other.instructions = b;
    pairs.push_back(made_up_pair(pairs.size() + 1, one, other));
  }
  EXPECT_DOUBLE_EQ(*judge_cell("c", pointers_to(pairs), made_up_rule(16)).instructions_ratio, 1.02);
}

TEST(Overall, IsTheWorst) {
  const auto cell = [](Verdict verdict) {
    CellVerdict out{.label = "c"};
    out.metrics.push_back({});
    out.metrics.back().decided.decision.verdict = verdict;
    return out;
  };
  EXPECT_EQ(overall(verdicts_of({cell(Verdict::same), cell(Verdict::regressed), cell(Verdict::inconclusive)})),
            Verdict::regressed);
  EXPECT_EQ(overall(verdicts_of({cell(Verdict::same), cell(Verdict::inconclusive)})), Verdict::inconclusive);
  EXPECT_EQ(overall(verdicts_of({cell(Verdict::same), cell(Verdict::improved)})), Verdict::improved);
  EXPECT_EQ(overall(verdicts_of({cell(Verdict::same)})), Verdict::same);
  EXPECT_EQ(overall(verdicts_of(std::vector<CellVerdict>())), Verdict::inconclusive);
  EXPECT_EQ(overall(verdicts_of({cell(Verdict::same), {.label = "without a pair"}})), Verdict::inconclusive);
}

TEST(Gate, IsRefusedWhereADifferenceOfTheMarginCouldHaveBeenMissed) {
  MadeUpNoise noise(5);
  std::vector<ExecutedPair> pairs;
  for (std::size_t i = 1; i <= 8; ++i) {
    pairs.push_back(made_up_pair(i, made_up_run(1 + noise(0.2)), made_up_run(1 + noise(0.2))));
  }
  const auto rule = made_up_rule(8);
  const std::vector<CellVerdict> cells{judge_cell("c", pointers_to(pairs), rule)};
  const auto refusals = gate_refusals(cells, rule);
  ASSERT_EQ(refusals.size(), 1U) << "memory and loss are exact";
  EXPECT_THAT(refusals.front(), HasSubstr("c step_time_s: 8 pairs detect differences of at least"));
  EXPECT_THAT(refusals.front(), HasSubstr("pairs"));
}

TEST(Looks, AreTheStandardOnesUpToTheLimit) {
  EXPECT_THAT(looks_up_to(64), testing::ElementsAre(4, 8, 16, 32, 64));
  EXPECT_THAT(looks_up_to(16), testing::ElementsAre(4, 8, 16));
  EXPECT_THAT(looks_up_to(8), testing::ElementsAre(4, 8));
  EXPECT_THAT(looks_up_to(6), testing::ElementsAre(4, 6));
  EXPECT_THAT(looks_up_to(3), testing::ElementsAre(3));
}

TEST(MetricRules, ExplainInvalidArguments) {
  const auto message = [](const std::vector<std::string>& names, const std::vector<std::string>& margins) {
    try {
      metric_rules(names, margins);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_THAT(message({"step_time"}, {}), HasSubstr("did you mean 'step_time_s'"));
  EXPECT_THAT(message({"grad_norm"}, {}), HasSubstr("cannot be judged"));
  EXPECT_THAT(message({}, {"step_time_s=2"}), HasSubstr("METRIC=FRACTION"));
  EXPECT_THAT(message({}, {"step_time_s"}), HasSubstr("METRIC=FRACTION"));
  EXPECT_THAT(message({"final_loss"}, {"step_time_s=0.1"}), HasSubstr("not among the judged metrics"));
  EXPECT_THAT(message({}, {"step_time_s=0.05"}), IsEmpty());
  EXPECT_DOUBLE_EQ(metric_rules({}, {"step_time_s=0.05"}).front().margin_fraction, 0.05);
  EXPECT_THROW(metric_rules({"mfu_fraction"}, {}), InputError) << "step_time_mean_s says it";
}

}  // namespace
}  // namespace perfbench::harness
