#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/data/window_order.h"

namespace perfbench::engine {
namespace {

TEST(WindowOrder, HasEveryWindowOnce) {
  for (const std::int64_t count : {1, 2, 3, 5, 16, 17, 1000, 4097}) {
    for (const std::int64_t epoch : {0, 1}) {
      const WindowOrder order(count, 42, epoch);
      std::vector<int> seen(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) {
        const auto w = order.at(i);
        ASSERT_TRUE(0 <= w && w < count) << w;
        ++seen[static_cast<std::size_t>(w)];
      }
      for (const int times : seen) ASSERT_EQ(times, 1) << count;
    }
  }
}

// The number of fixed points of a random order has a Poisson distribution with mean 1: more than 12 occur once in 10^9.
// The number of ascents among n places has mean (n - 1) / 2 and variance (n + 1) / 12 (Eulerian numbers): six
// deviations.
TEST(WindowOrder, LooksRandomAndDependsOnSeedAndEpoch) {
  constexpr std::int64_t kCount = 10'000;
  const WindowOrder order(kCount, 42, 0);
  const WindowOrder other_seed(kCount, 43, 0);
  const WindowOrder other_epoch(kCount, 42, 1);
  int fixed = 0;
  int ascents = 0;
  int same_seed = 0;
  int same_epoch = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    fixed += order.at(i) == i ? 1 : 0;
    same_seed += order.at(i) == other_seed.at(i) ? 1 : 0;
    same_epoch += order.at(i) == other_epoch.at(i) ? 1 : 0;
    if (i > 0) ascents += order.at(i - 1) < order.at(i) ? 1 : 0;
  }
  EXPECT_LE(fixed, 12);
  EXPECT_LE(same_seed, 12);
  EXPECT_LE(same_epoch, 12);
  EXPECT_NEAR(ascents, (kCount - 1) / 2.0, 6 * std::sqrt((kCount + 1) / 12.0));
}

}  // namespace
}  // namespace perfbench::engine
