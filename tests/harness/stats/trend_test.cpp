#include "harness/stats/trend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace perfbench::harness {
namespace {

std::vector<double> noisy_steps(std::size_t count, double growth, double deviation, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, deviation);
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(std::pow(1 + growth, static_cast<double>(i)) + noise(random));
  return out;
}

// Near its middle 1.02^i rises by the factor ln 1.02 a step: over 19 intervals 0.376.
TEST(Trend, IsFoundInStepsThatGrowByTwoPercentEach) {
  EXPECT_NEAR(*trend_fraction(noisy_steps(20, 0.02, 0.0, 1)), 0.38, 0.02);
  EXPECT_NEAR(*trend_fraction(noisy_steps(20, 0.02, 0.02, 1)), 0.38, 0.06);
  EXPECT_LT(*trend_fraction(noisy_steps(20, -0.02, 0.0, 1)), -0.3) << "of those that become quicker, too";
}

// 0.01 each; the tolerance of four standard deviations for 500 is 4 * sqrt(500 * 0.01 * 0.99) = 9.
TEST(Trend, NoiseAloneHasATrendOnceInAHundredRuns) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) found += *trend_fraction(noisy_steps(20, 0, 0.1, seed)) != 0;
  EXPECT_LE(found, 5 + 9);
}

TEST(Trend, IsNotMadeByAFewStalls) {
  auto steps = noisy_steps(40, 0, 0.01, 7);
  steps[30] = steps[36] = steps[39] = 5;
  EXPECT_EQ(*trend_fraction(steps), 0);
}

TEST(Trend, ALongRunHasTheTrendOfItsPieces) {
  EXPECT_NEAR(*trend_fraction(noisy_steps(5000, 0.0001, 0.05, 3)), 0.5, 0.03);  // 4999 ln 1.0001
}

TEST(Trend, FewStepsHaveNoTrend) {
  EXPECT_FALSE(trend_fraction(noisy_steps(7, 0.1, 0, 1)));
  EXPECT_FALSE(trend_fraction(std::vector<double>(20, 0.0)));
}

TEST(TrendText, DescribesTheMedianRunAndTrendsAboveFivePercent) {
  EXPECT_EQ(trend_text({0.32, 0.0, 0.3}), "its steps became 30.0 % slower during a run");
  EXPECT_EQ(trend_text({-0.2}), "its steps became 20.0 % quicker during a run");
  EXPECT_EQ(trend_text({0.05, 0.04}), "");
  EXPECT_EQ(trend_text({}), "");
  EXPECT_EQ(trend_note("B", {0.32}),
            "B: its steps became 32.0 % slower during a run; longer runs may differ in another way");
  EXPECT_EQ(trend_note("B", {0.05}), "");
}

}  // namespace
}  // namespace perfbench::harness
