#include "harness/judge/bisection.h"

#include <gtest/gtest.h>

namespace perfbench::harness {
namespace {

// Every history of up to nine commits, every first bad commit, every set of commits that cannot be decided.
TEST(Bisection, NeverLosesTheFirstBadCommitAndNamesNoMoreThanItMust) {
  for (std::size_t count = 1; count <= 9; ++count) {
    for (std::size_t first_bad = 0; first_bad < count; ++first_bad) {
      for (unsigned skipped = 0; skipped < 1U << (count - 1); ++skipped) {  // the last one is known to be bad
        const auto is_skipped = [skipped](std::size_t i) { return (skipped >> i & 1U) != 0; };
        const auto left = bisect(count, [&](std::size_t i) {
          EXPECT_LT(i + 1, count);
          if (is_skipped(i)) return StepOutcome::skipped;
          return i >= first_bad ? StepOutcome::bad : StepOutcome::good;
        });
        auto lowest = first_bad;  // undecidable commits right before it could be the first bad one as well
        while (lowest > 0 && is_skipped(lowest - 1)) --lowest;
        auto highest = first_bad;  // and so could those up to the first commit that is found to be bad
        while (highest + 1 < count && is_skipped(highest)) ++highest;
        EXPECT_EQ(left.first, lowest);
        EXPECT_EQ(left.last, highest);
      }
    }
  }
}

TEST(Bisection, LooksNoMoreThanTheLogarithm) {
  for (std::size_t first_bad = 0; first_bad < 64; ++first_bad) {
    int looks = 0;
    const auto left = bisect(64, [&](std::size_t i) {
      ++looks;
      return i >= first_bad ? StepOutcome::bad : StepOutcome::good;
    });
    EXPECT_EQ(left.first, first_bad);
    EXPECT_TRUE(left.is_one());
    EXPECT_LE(looks, 6);
  }
}

}  // namespace
}  // namespace perfbench::harness
