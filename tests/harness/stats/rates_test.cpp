#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/stats/false_discovery.h"
#include "harness/stats/proportion.h"

namespace perfbench::harness {
namespace {

TEST(BenjaminiHochberg, AdjustsByRankAndKeepsTheOrderGiven) {
  // ranks 3, 1, 2, 4 of 4: 0.03 * 4 / 3 = 0.04, 0.005 * 4 = 0.02, 0.01 * 4 / 2 = 0.02, 0.5
  const auto q = benjamini_hochberg({0.03, 0.005, 0.01, 0.5});
  EXPECT_DOUBLE_EQ(q[0], 0.04);
  EXPECT_DOUBLE_EQ(q[1], 0.02);
  EXPECT_DOUBLE_EQ(q[2], 0.02);
  EXPECT_DOUBLE_EQ(q[3], 0.5);
}

TEST(BenjaminiHochberg, NeverRanksALargerPBelowASmaller) {
  // 0.04 * 3 / 2 = 0.06 would exceed the next one's 0.05.
  const auto q = benjamini_hochberg({0.04, 0.05, 0.01});
  EXPECT_DOUBLE_EQ(q[0], 0.05);
  EXPECT_TRUE(benjamini_hochberg({}).empty());
}

TEST(Wilson, BoundsARateAlsoWhereNothingWasSeen) {
  // 0 of 100: high = z^2 / (n + z^2) = 3.841459 / 103.841459
  const auto none = wilson(0, 100);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.0369935, 1e-7);
  const auto all = wilson(100, 100);
  EXPECT_EQ(all.high, 1);
  EXPECT_NEAR(all.low, 1 - 0.0369935, 1e-7);
  EXPECT_THROW(wilson(0, 0), std::invalid_argument);
  EXPECT_THROW(wilson(2, 1), std::invalid_argument);
}

// Sums of binomial coefficients: twice C(9, 0) + C(9, 1) of 2^9, and the first four of 2^15.
TEST(SignTest, IsTwiceTheTailOfFairCoins) {
  EXPECT_NEAR(sign_test_p(0, 7), 2.0 / 128, 1e-15);
  EXPECT_NEAR(sign_test_p(8, 0), 2.0 / 256, 1e-15);
  EXPECT_NEAR(sign_test_p(1, 8), 2.0 * (1 + 9) / 512, 1e-15);
  EXPECT_NEAR(sign_test_p(12, 3), 2.0 * (1 + 15 + 105 + 455) / 32768, 1e-15);
  EXPECT_EQ(sign_test_p(5, 5), 1);
  EXPECT_EQ(sign_test_p(0, 0), 1);
}

// Cumulative binomial coefficients: of 2^10, 1 + 10 are below 2.5 % and 1 + 10 + 45 above it; of 2^6, 1 is below.
TEST(MedianBound, IsTheRankThatBoundsTheMedianWithoutADistribution) {
  EXPECT_EQ(median_bound(10), 1U);
  EXPECT_EQ(median_bound(6), 0U);
  EXPECT_EQ(median_bound(20), 5U);
  EXPECT_EQ(median_bound(3), 0U) << "three values bound nothing with 97.5 %: the lowest is the best there is";
}

// By SciPy (scipy.stats.fisher_exact).
TEST(FisherExact, AgreesWithSciPy) {
  EXPECT_NEAR(fisher_exact_p(0, 6, 6, 6), 0.0021645021645021645, 1e-12);
  EXPECT_NEAR(fisher_exact_p(1, 10, 7, 9), 0.005477494641581329, 1e-12);
  EXPECT_NEAR(fisher_exact_p(3, 12, 5, 8), 0.1674684448678257, 1e-12);
  EXPECT_NEAR(fisher_exact_p(2, 30, 9, 31), 0.042630869823985645, 1e-12);
  EXPECT_NEAR(fisher_exact_p(4, 8, 4, 8), 1, 1e-12);
  EXPECT_EQ(fisher_exact_p(0, 0, 3, 3), 1) << "there is nothing to compare";
  EXPECT_THROW(fisher_exact_p(4, 3, 0, 3), std::invalid_argument);
}

}  // namespace
}  // namespace perfbench::harness
