#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "harness/stats/pairs.h"

namespace perfbench::harness {
namespace {

TEST(TurnRatio, IsTheMedianOfTheTurnsAfterTheWarmUpOfBoth) {
  // The first step of a is slow, and so are the first two of b; the turns after them have six different ratios.
  const std::vector<double> a{5, 1, 1, 2, 2, 4, 1, 1};
  const std::vector<double> b{9, 9, 1.05, 2 * 1.08, 2 * 1.1, 4 * 1.12, 1.15, 1.2};
  const double expected = std::log(1.1 * 1.12) / 2;
  EXPECT_NEAR(median_log_ratio(a, b).value(), expected, 1e-12);
  EXPECT_NEAR(median_log_ratio(b, a).value(), -expected, 1e-12);
}

// The machine becomes slower by half in the middle, and b is 10 % slower: the runs' own medians fall on either side of
// the change or between, depending on which run has one slow step more.
TEST(TurnRatio, IgnoresDisturbancesOfBothSides) {
  const auto ratio = median_log_ratio({1, 1, 1, 1, 1.5, 1.5, 1.5}, {1.1, 1.1, 1.1, 1.65, 1.65, 1.65, 1.65});
  ASSERT_TRUE(ratio.has_value());
  EXPECT_NEAR(*ratio, std::log(1.1), 1e-12);
}

TEST(TurnRatio, RunsThatDoNotMatchHaveNone) {
  EXPECT_FALSE(median_log_ratio({}, {}).has_value());
  EXPECT_FALSE(median_log_ratio({1, 1, 1}, {1, 1}).has_value());
  EXPECT_FALSE(median_log_ratio({1, 1, 0}, {1, 1, 1}).has_value()) << "a clock that stood still";
}

// A random order of 24 turns, and of the turn in which both end. Each side follows itself 6 times.
std::vector<FirstInTurn> drawn_order() {
  std::vector<FirstInTurn> out;
  for (const char first : std::string("abbaabbaabbaabbaabbaabbaa")) {
    out.push_back(first == 'a' ? FirstInTurn::a : FirstInTurn::b);
  }
  return out;
}

// The times of the steps of one side, each longer by `after_other` if the other side stepped just before it.
std::vector<double> steps_after(FirstInTurn side, double step_s, double after_other) {
  const auto order = drawn_order();
  std::vector<double> out;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const bool follows_itself = i > 0 && order[i] == side && order[i - 1] != side;
    out.push_back(follows_itself ? step_s : step_s * (1 + after_other));
  }
  return out;
}

TEST(OrderEffect, ShowsWhatOnlyOneSideLeavesBehind) {
  const auto a = steps_after(FirstInTurn::a, 1, 0.02);
  const auto slowed = order_log_effect(a, steps_after(FirstInTurn::b, 3, 0.07), drawn_order());
  ASSERT_TRUE(slowed.has_value());
  EXPECT_NEAR(*slowed, std::log(1.07 / 1.02), 1e-12);
  const auto alike = order_log_effect(a, steps_after(FirstInTurn::b, 3, 0.02), drawn_order());
  ASSERT_TRUE(alike.has_value());
  EXPECT_NEAR(*alike, 0, 1e-12) << "caches that are cold for both";
}

TEST(OrderEffect, NeedsStepsOfEachKind) {
  const auto a = steps_after(FirstInTurn::a, 1, 0);
  EXPECT_FALSE(order_log_effect(a, a, std::vector<FirstInTurn>(a.size() + 1, FirstInTurn::a)).has_value())
      << "no side ever follows itself";
  EXPECT_FALSE(order_log_effect(a, {1, 1}, drawn_order()).has_value());
  EXPECT_FALSE(order_log_effect(a, a, {FirstInTurn::a}).has_value()) << "of other turns";
  EXPECT_FALSE(order_log_effect({}, {}, {}).has_value());
}

}  // namespace
}  // namespace perfbench::harness
