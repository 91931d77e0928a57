// Comparisons of simulated sides: the order of execution, and the results.
#include "harness/pairs/ab_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "harness/stats/pairs.h"
#include "tests/harness/pairs/made_up_runs.h"

namespace perfbench::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AbRun : public testing::Test {
 protected:
  struct Call {
    std::string cell;
    Side side;
  };

  // B takes `b_scale` times as long as A, with 1 % noise on each run.
  AbHooks hooks(double b_scale) {
    return {.run =
                [this, b_scale](const AbCell& cell, Side side) {
                  calls_.push_back({cell.label, side});
                  return made_up_run((1 + noise_(0.01)) * (side == Side::b ? b_scale : 1.0));
                },
            .record = [this](const ExecutedPair& pair) { recorded_.push_back(pair); },
            .cancelled = [this] { return calls_.size() == cancel_at_; }};
  }
  AbResult run(const AbHooks& with, std::size_t pairs, std::vector<ExecutedPair> done = {}) {
    return run_pairs(cells_, made_up_rule(pairs), kSeed, with, std::move(done));
  }
  Verdict speed(const AbResult& result) { return decision_about(result.cells.front(), "step_time_s").verdict; }

  static constexpr std::uint64_t kSeed = 11;
  std::vector<AbCell> cells_{made_up_cell("one")};
  MadeUpNoise noise_{1};
  std::vector<Call> calls_;
  std::vector<ExecutedPair> recorded_;
  std::size_t cancel_at_ = SIZE_MAX;
};

TEST_F(AbRun, ASlowSideBIsRedAndAFastOneIsNot) {
  EXPECT_EQ(speed(run(hooks(1.05), 16)), Verdict::regressed);
  EXPECT_EQ(speed(run(hooks(1 / 1.05), 16)), Verdict::improved);
  EXPECT_EQ(speed(run(hooks(1), 16)), Verdict::same);
}

TEST_F(AbRun, OrderInEachPairFollowsTheSeed) {
  const auto result = run(hooks(1.05), 16);
  ASSERT_GE(result.pairs.size(), 8U);
  for (std::size_t i = 0; i < result.pairs.size(); ++i) {
    const auto first = first_side(kSeed, 0, i + 1);
    EXPECT_EQ(result.pairs[i].first, first);
    EXPECT_EQ(calls_[2 * i].side, first);
    EXPECT_NE(calls_[2 * i + 1].side, first);
  }
}

TEST_F(AbRun, EveryCellHasItsPairBeforeAnyHasItsNext) {
  cells_ = {made_up_cell("one"), made_up_cell("two"), made_up_cell("three")};
  run(hooks(1.05), 4);
  ASSERT_EQ(calls_.size(), 3U * 2 * 4);
  for (std::size_t i = 0; i < calls_.size(); i += 6) {
    EXPECT_THAT((std::vector{calls_[i].cell, calls_[i + 2].cell, calls_[i + 4].cell}),
                ElementsAre("one", "two", "three"));
  }
}

TEST_F(AbRun, TheRuleAfterTheFirstRoundDecidesTheRest) {
  cells_ = {made_up_cell("one"), made_up_cell("two")};
  auto with = hooks(1.01);
  with.run = [this](const AbCell& cell, Side side) {
    calls_.push_back({cell.label, side});
    auto run = made_up_run(side == Side::b ? 1.05 + 0.1 * noise_(1) : 1 + 0.1 * noise_(1));  // 4 pairs tell nothing
    run.wall_ns = 250'000'000;
    return run;
  };
  std::vector<double> rounds;
  with.rule_after_first_round = [&](double round_s) {
    rounds.push_back(round_s);
    EXPECT_EQ(calls_.size(), 4U);
    return made_up_rule(6);
  };
  const auto result = run(with, 4);
  EXPECT_THAT(rounds, ElementsAre(1.0));
  EXPECT_EQ(result.rule.looks.back(), 6U);
  EXPECT_EQ(result.cells.front().pairs_used, 6U);

  // A comparison that was interrupted plans again by the pairs that it recorded.
  rounds.clear();
  std::vector<ExecutedPair> first{result.pairs[0], result.pairs[6]};
  ASSERT_EQ(first[1].cell, 1U);
  calls_.resize(4);
  EXPECT_EQ(run(with, 4, first).cells.back().pairs_used, 6U);
  EXPECT_THAT(rounds, ElementsAre(1.0));

  // Also after the first rule would have ended it.
  rounds.clear();
  std::vector<ExecutedPair> four;
  for (const std::size_t at : std::initializer_list<std::size_t>{0, 1, 2, 3, 6, 7, 8, 9})
    four.push_back(result.pairs[at]);
  calls_.resize(4);
  EXPECT_EQ(run(with, 4, four).cells.back().pairs_used, 6U);
  EXPECT_THAT(rounds, ElementsAre(1.0));
}

TEST_F(AbRun, AFirstPairThatFailedPlansNothing) {
  auto with = hooks(1);
  with.run = [this](const AbCell& cell, Side side) {
    calls_.push_back({cell.label, side});
    return calls_.size() == 1 ? crashed_run() : made_up_run(1 + noise_(0.001));
  };
  with.rule_after_first_round = [](double) {
    ADD_FAILURE();
    return made_up_rule(64);
  };
  EXPECT_EQ(run(with, 4).rule.looks.back(), 4U);
}

TEST_F(AbRun, ASpoiledPairIsDiscardedWholeAndReplaced) {
  auto with = hooks(1);
  with.run = [this](const AbCell&, Side side) {
    calls_.push_back({"one", side});
    auto run = made_up_run(1 + noise_(0.001));
    // The runs of the second pair: both absurdly slow, one of them visibly disturbed.
    if (calls_.size() == 3 || calls_.size() == 4) run.metrics["step_time_s"] = side == Side::b ? 50 : 10;
    if (calls_.size() == 4) run.load.foreign_fraction = 0.5;
    return run;
  };
  const auto result = run(with, 4);
  EXPECT_EQ(result.cells.front().pairs_used, 4U);
  EXPECT_EQ(result.cells.front().pairs_discarded, 1U);
  EXPECT_EQ(calls_.size(), 10U);
  EXPECT_EQ(speed(result), Verdict::same) << "neither run of it may count";
  EXPECT_THAT(recorded_[1].discarded, HasSubstr("other processes used 50.0 %"));
  for (std::size_t i = 2; i < result.pairs.size(); ++i) {
    EXPECT_EQ(result.pairs[i].first, first_side(kSeed, 0, i)) << "what replaces a pair has its order";
  }
  EXPECT_EQ(result.cells.front().discarded.at(Discard::foreign_load).count, 1U);
}

TEST_F(AbRun, ACellThatIsSpoiledAgainAndAgainEndsUndecided) {
  auto with = hooks(1);
  with.run = [this](const AbCell&, Side side) {
    calls_.push_back({"one", side});
    auto run = made_up_run(side == Side::b ? 2 : 1);
    run.load.steal_fraction = 0.5;
    return run;
  };
  const auto result = run(with, 4);
  EXPECT_EQ(calls_.size(), 2U * 5) << "four replacements for four pairs, then it is given up";
  EXPECT_EQ(speed(result), Verdict::inconclusive);
  EXPECT_EQ(overall(verdicts_of(result.cells)), Verdict::inconclusive);
}

TEST_F(AbRun, ACellWhoseSideBAlwaysCrashesIsGivenUpAfterSixAndIsRed) {
  auto with = hooks(1);
  with.run = [this](const AbCell&, Side side) {
    calls_.push_back({"one", side});
    return side == Side::b ? crashed_run() : made_up_run(1);
  };
  const auto result = run(with, 16);
  EXPECT_EQ(calls_.size(), 12U);
  EXPECT_EQ(overall(verdicts_of(result.cells)), Verdict::regressed);
  EXPECT_EQ(result.cells.front().whole->detail,
            "B failed 6 of 6 times (crashed: signal 11), A failed 0 of 6 times: p = 0.0022");
}

TEST_F(AbRun, AnInterruptedComparisonContinuesToTheSameVerdictWithTheSameOrder) {
  cells_ = {made_up_cell("one"), made_up_cell("two")};
  // Times that depend only on the run, so that both ways measure the same.
  auto with = hooks(1);
  std::map<std::pair<std::string, Side>, int> runs;
  with.run = [&](const AbCell& cell, Side side) {
    calls_.push_back({cell.label, side});
    const int number = runs[{cell.label, side}]++;
    MadeUpNoise noise(static_cast<std::uint64_t>(number) * 4 + (side == Side::a ? 1 : 2));
    noise(1);
    return made_up_run((1 + noise(0.005)) * (side == Side::b ? 1.05 : 1));
  };
  const auto whole = run(with, 8);
  runs.clear();
  calls_.clear();
  recorded_.clear();
  cancel_at_ = 5;  // in the middle of the third pair
  const auto half = run(with, 8);
  EXPECT_TRUE(half.cancelled);
  EXPECT_EQ(recorded_.size(), 2U) << "half a pair does not count";
  cancel_at_ = SIZE_MAX;
  runs[{"one", Side::a}] = runs[{"one", Side::b}] = runs[{"two", Side::a}] = runs[{"two", Side::b}] = 1;
  const auto rest = run(with, 8, recorded_);
  ASSERT_EQ(rest.pairs.size(), whole.pairs.size());
  for (std::size_t i = 0; i < whole.pairs.size(); ++i) EXPECT_EQ(rest.pairs[i].first, whole.pairs[i].first);
  EXPECT_EQ(*decision_about(rest.cells[1], "step_time_s").ratio, *decision_about(whole.cells[1], "step_time_s").ratio);
  EXPECT_EQ(speed(rest), Verdict::regressed);
}

// Eight pairs of a cell that differ, with a p between alpha / cells and alpha.
std::vector<ExecutedPair> barely_significant_pairs() {
  for (std::uint64_t seed = 1;; ++seed) {
    MadeUpNoise noise(seed);
    std::vector<ExecutedPair> pairs;
    for (std::size_t i = 1; i <= 8; ++i) {
      pairs.push_back(made_up_pair(i, made_up_run(1), made_up_run(1.1 * (1 + noise(0.15)))));
    }
    auto rule = made_up_rule(16);
    const auto decision = decision_about(judge_cell("c", pointers_to(pairs), rule), "step_time_s");
    if (decision.verdict == Verdict::regressed && *decision.p > 0.002) return pairs;
  }
}

TEST_F(AbRun, SignificanceThatDoesNotSurviveAmongAllCellsGetsAnotherLook) {
  const auto pairs = barely_significant_pairs();
  const auto play = [&](std::size_t cells) {
    cells_.clear();
    for (std::size_t i = 0; i < cells; ++i) cells_.push_back(made_up_cell(std::to_string(i)));
    auto with = hooks(1);
    std::map<std::string, std::size_t> runs;
    with.run = [&](const AbCell& cell, Side side) {
      const auto number = runs[cell.label + std::string(spec::enum_name(side))]++;
      if (cell.label != "0") return made_up_run(1 + 1e-4 * static_cast<double>(number % 3));
      return pairs[number % pairs.size()].of(side);
    };
    return run(with, 16).cells.front();
  };
  EXPECT_EQ(play(1).pairs_used, 8U) << "alone it is decided";
  EXPECT_EQ(play(10).pairs_used, 16U) << "among ten it is looked at once more";
}

TEST_F(AbRun, RunsNothingForCellsThatCannotBeCompared) {
  cells_.front().not_comparable = "A does not run it: infeasible";
  const auto result = run(hooks(1), 4);
  EXPECT_TRUE(calls_.empty());
  EXPECT_EQ(overall(verdicts_of(result.cells)), Verdict::inconclusive);
  EXPECT_EQ(result.cells.front().whole->verdict, Verdict::not_comparable);
}

TEST(PairsLeft, CountToTheNextLookAndToTheLast) {
  const std::vector<CellVerdict> cells{{.label = "open", .pairs_used = 5, .next_look = 8},
                                       {.label = "done", .pairs_used = 4, .final = true}};
  const auto left = pairs_left(cells, {4, 8, 16});
  EXPECT_EQ(left.to_next_look, 3U);
  EXPECT_EQ(left.at_most, 11U);
}

std::string progress_after(const ExecutedPair& pair) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  AbProgress(out, SweepProgress::Style::lines, {4}).end(pair, {{.label = "open", .pairs_used = 1, .next_look = 4}});
  std::fclose(out);
  const std::unique_ptr<char, void (*)(void*)> owned(text, std::free);
  return {text, size};
}

TEST(PairsLeft, NeedAsManyExecutionsAsThePreviousOnes) {
  EXPECT_DOUBLE_EQ(executions_a_pair(0, 0), 1.0);
  EXPECT_DOUBLE_EQ(executions_a_pair(7, 7), 1.0);
  EXPECT_DOUBLE_EQ(executions_a_pair(7, 3), 2.0) << "more than half were discarded";
  ExecutedPair spoiled;
  spoiled.discard = Discard::probe_moved;
  spoiled.a.wall_ns = spoiled.b.wall_ns = 1'000'000'000;
  EXPECT_THAT(progress_after(spoiled), HasSubstr("in 2.0 s, about 12 s to the next looks")) << "3 pairs, each of 2";
}

TEST(AbProgress, CountsTheRunsOfAPairInTurnsOnceAsBothAreAliveAtOnce) {
  ExecutedPair pair;
  pair.a.wall_ns = 2'000'000'000;
  pair.b.wall_ns = 3'000'000'000;
  EXPECT_THAT(progress_after(pair), HasSubstr("in 5.0 s, about 15 s to the next looks"));
  pair.in_turns = true;
  EXPECT_THAT(progress_after(pair), HasSubstr("in 3.0 s, about 9 s to the next looks"));
}

}  // namespace
}  // namespace perfbench::harness
