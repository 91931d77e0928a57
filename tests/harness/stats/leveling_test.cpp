#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/stats/screen.h"

namespace perfbench::harness {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

using Logs = std::vector<double>;
using Firsts = std::vector<std::size_t>;

// By hand: the median is 11 since the shift and 1 before it; the nights before move by 10.
TEST(AtNewestLevel, MovesTheNightsBeforeByTheDifferenceOfMedians) {
  EXPECT_THAT(at_newest_level({0, 1, 5, 11, 12, 10}, Firsts{3}), ElementsAre(10, 11, 15, 11, 12, 10));
}

// The first shift moves nights 0 to 1 by 10, the second one then nights 0 to 3 by -30.
TEST(AtNewestLevel, TakesSeveralShiftsOldestFirstInWhateverOrderTheyAreGiven) {
  const Logs logs{0, 2, 10, 12, -19, -19};
  const Logs expected{-20, -18, -20, -18, -19, -19};
  EXPECT_THAT(at_newest_level(logs, Firsts{2, 4}), Pointwise(DoubleNear(1e-12), expected));
  EXPECT_THAT(at_newest_level(logs, Firsts{4, 2, 4}), Pointwise(DoubleNear(1e-12), expected));
}

// Fourteen nights at 1 and then thirty at 3: the median of all nights since the shift would be 3.
TEST(AtNewestLevel, LooksAtTheFirstFortnightSinceAndFortyNightsBefore) {
  Logs logs(30, 7.0);
  logs.insert(logs.end(), 40, 0.0);
  logs.insert(logs.end(), 14, 1.0);
  logs.insert(logs.end(), 30, 3.0);
  const auto moved = at_newest_level(logs, Firsts{70});
  EXPECT_DOUBLE_EQ(moved[69], 1);
  EXPECT_DOUBLE_EQ(moved[0], 8);
  EXPECT_DOUBLE_EQ(moved[84], 3);
}

// The two nights between a shift and the next one show its level; the twelve after them do not.
TEST(AtNewestLevel, ANightCountsForTheShiftBeforeItAlone) {
  Logs logs(20, 0.0);
  logs.insert(logs.end(), 2, 5.0);
  logs.insert(logs.end(), 12, 1.0);
  EXPECT_THAT(at_newest_level(logs, Firsts{20, 22}), testing::Each(1.0));
}

TEST(AtNewestLevel, AShiftThatIsNotAmongTheNightsMovesNothing) {
  const Logs logs{1, 2, 3};
  EXPECT_EQ(at_newest_level(logs, Firsts{}), logs);
  EXPECT_EQ(at_newest_level(logs, Firsts{0, 3, 100}), logs);
  EXPECT_TRUE(at_newest_level({}, Firsts{0, 1}).empty());
}

}  // namespace
}  // namespace perfbench::harness
