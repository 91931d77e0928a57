#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "engine/core/arena.h"

namespace perfbench::engine {
namespace {

TEST(Arena, RoundsEveryBlockToACacheLine) {
  Arena arena;
  EXPECT_EQ(arena.allocate(1), 0);
  EXPECT_EQ(arena.allocate(65), 64);
  EXPECT_EQ(arena.allocate(1), 192);
  EXPECT_EQ(arena.extent(), 256);
}

TEST(Arena, PrefersTheSmallestGapThatFits) {
  Arena arena;
  const auto big = arena.allocate(640);
  arena.allocate(64);
  const auto small = arena.allocate(128);
  arena.allocate(64);
  arena.release(big, 640);
  arena.release(small, 128);
  EXPECT_EQ(arena.allocate(100), small);
}

TEST(Arena, JoinsNeighbouringGaps) {
  Arena arena;
  const auto a = arena.allocate(64);
  const auto b = arena.allocate(64);
  const auto c = arena.allocate(64);
  arena.allocate(64);
  arena.release(a, 64);
  arena.release(c, 64);
  arena.release(b, 64);
  EXPECT_EQ(arena.allocate(192), a);
}

TEST(Arena, ExtentStaysAtItsHighestEnd) {
  Arena arena;
  const auto a = arena.allocate(1024);
  arena.release(a, 1024);
  EXPECT_EQ(arena.allocate(64), 0);
  EXPECT_EQ(arena.extent(), 1024);
}

// Against a plain list of live intervals: no two overlap, whatever the order of calls.
TEST(Arena, NeverHandsOutAByteTwice) {
  Arena arena;
  std::mt19937 random(7);
  std::map<std::int64_t, std::int64_t> live;
  for (int i = 0; i < 20'000; ++i) {
    if (live.empty() || random() % 3 != 0) {
      const auto bytes = static_cast<std::int64_t>(random() % 5000 + 1);
      const auto offset = arena.allocate(bytes);
      ASSERT_EQ(offset % Arena::kAlignment, 0);
      const auto after = live.lower_bound(offset);
      if (after != live.end()) {
        ASSERT_LE(offset + Arena::rounded(bytes), after->first);
      }
      if (after != live.begin()) {
        const auto before = std::prev(after);
        ASSERT_LE(before->first + Arena::rounded(before->second), offset);
      }
      live[offset] = bytes;
    } else {
      auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
      arena.release(victim->first, victim->second);
      live.erase(victim);
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
