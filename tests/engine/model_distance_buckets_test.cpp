#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/model/distance_buckets.h"

namespace perfbench::engine {
namespace {

std::vector<std::int32_t> buckets_of(std::int64_t buckets, std::int64_t max_distance, std::int64_t seq_len) {
  return distance_buckets({.t5_buckets = buckets, .t5_max_distance = max_distance}, seq_len);
}

// Half of the buckets are exact: 0 to 3. The bounds of the others are 4, 4 * 3^(1/4) = 5.26, 6.93, 9.12 and 12, where
// the last one begins.
TEST(DistanceBuckets, AreExactThenLogarithmicThenOne) {
  EXPECT_THAT(buckets_of(8, 12, 16), testing::ElementsAre(0, 1, 2, 3, 4, 4, 5, 6, 6, 6, 7, 7, 7, 7, 7, 7));
}

// With T5's own values, 16 * 2^(3k/16): 16, 18.2, 20.7, ..., 112.4 and 128.
TEST(DistanceBuckets, HaveT5sBounds) {
  const auto of = buckets_of(32, 128, 300);
  for (std::size_t d = 0; d < of.size(); ++d) {
    std::int32_t want = static_cast<std::int32_t>(d);
    if (d >= 16) {
      want = 15;
      for (int k = 0; k < 16 && static_cast<double>(d) >= 16 * std::exp2(3.0 * k / 16); ++k) ++want;
    }
    EXPECT_EQ(of[d], want) << d;
  }
  EXPECT_EQ(of[112], 30);
  EXPECT_EQ(of[113], 31);
  EXPECT_EQ(of[299], 31);
}

// 2 * 4^(1/2) is 4, and the bounds 5 * 32^(k/5) of ten buckets are 5, 10, 20, 40, 80: whole numbers, which belong to
// the upper bucket whatever the quotients of logarithms give.
TEST(DistanceBuckets, ADistanceOnABoundBelongsToTheUpperBucket) {
  EXPECT_THAT(buckets_of(4, 8, 9), testing::ElementsAre(0, 1, 2, 2, 3, 3, 3, 3, 3));
  const auto of = buckets_of(10, 160, 161);
  for (const auto& [bound, bucket] : {std::pair{5, 5}, {10, 6}, {20, 7}, {40, 8}, {80, 9}}) {
    EXPECT_EQ(of[static_cast<std::size_t>(bound)], bucket);
    EXPECT_EQ(of[static_cast<std::size_t>(bound) - 1], bucket - 1);
  }
}

TEST(DistanceBuckets, MayBeFewerThanTheirRuleNeeds) {
  EXPECT_THAT(buckets_of(1, 1, 3), testing::ElementsAre(0, 0, 0));
  EXPECT_THAT(buckets_of(2, 1, 3), testing::ElementsAre(0, 1, 1));
  EXPECT_THAT(buckets_of(8, 2, 6), testing::ElementsAre(0, 1, 2, 3, 7, 7)) << "the last exact ones are beyond it";
}

}  // namespace
}  // namespace perfbench::engine
