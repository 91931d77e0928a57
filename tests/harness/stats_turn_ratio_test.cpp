#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/stats/turn_ratio.h"

namespace perfbench::harness {
namespace {

TEST(TurnRatio, IsTheMedianOfTheTurnsAfterTheWarmUpOfBoth) {
  // The first step of a is slow, the first two of b are; the turns after them have six different ratios.
  const std::vector<double> a{5, 1, 1, 2, 2, 4, 1, 1};
  const std::vector<double> b{9, 9, 1.05, 2 * 1.08, 2 * 1.1, 4 * 1.12, 1.15, 1.2};
  const double expected = std::log(1.1 * 1.12) / 2;
  EXPECT_NEAR(median_log_ratio(a, b).value(), expected, 1e-12);
  EXPECT_NEAR(median_log_ratio(b, a).value(), -expected, 1e-12);
}

// The machine becomes slower by half in the middle, and b is 10 % slower: the runs' own medians lie on either side of
// the change or between, whichever has one more slow step.
TEST(TurnRatio, DoesNotSeeWhatBothSee) {
  const auto ratio = median_log_ratio({1, 1, 1, 1, 1.5, 1.5, 1.5}, {1.1, 1.1, 1.1, 1.65, 1.65, 1.65, 1.65});
  ASSERT_TRUE(ratio.has_value());
  EXPECT_NEAR(*ratio, std::log(1.1), 1e-12);
}

TEST(TurnRatio, IsNoneOfRunsThatDoNotFitTogether) {
  EXPECT_FALSE(median_log_ratio({}, {}).has_value());
  EXPECT_FALSE(median_log_ratio({1, 1, 1}, {1, 1}).has_value());
  EXPECT_FALSE(median_log_ratio({1, 1, 0}, {1, 1, 1}).has_value()) << "a clock that stood still";
}

}  // namespace
}  // namespace perfbench::harness
