#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "engine/core/memory.h"
#include "engine/core/tensor.h"

namespace perfbench::engine {
namespace {

TEST(Arena, RoundsEveryBlockTo256Bytes) {
  Arena arena;
  EXPECT_EQ(arena.allocate(1), 0);
  EXPECT_EQ(arena.allocate(257), 256);
  EXPECT_EQ(arena.allocate(1), 768);
  EXPECT_EQ(arena.extent(), 1024);
}

// The base counts as well as the offset, whatever was allocated before.
TEST(Arena, TensorsOfEveryScopeBeginAtMultiplesOf256Bytes) {
  Memory memory(make_cpu_backing(), make_cpu_backing(), {});
  std::vector<Tensor> tensors;
  for (const auto scope : {MemoryScope::weights, MemoryScope::workspace, MemoryScope::host}) {
    for (const std::int64_t elements : {1, 16, 65}) {
      tensors.emplace_back(memory, TensorRequest{"one", scope, DType::f32, Shape{elements}});
      const auto address = reinterpret_cast<std::uintptr_t>(tensors.back().view().data);
      EXPECT_EQ(address % 256, 0U) << scope_name(scope) << " " << elements;
    }
  }
}

TEST(Arena, PrefersTheSmallestGapThatFits) {
  Arena arena;
  const auto big = arena.allocate(2560);
  arena.allocate(256);
  const auto small = arena.allocate(512);
  arena.allocate(256);
  arena.release(big, 2560);
  arena.release(small, 512);
  EXPECT_EQ(arena.allocate(400), small);
}

TEST(Arena, JoinsNeighbouringGaps) {
  Arena arena;
  const auto a = arena.allocate(256);
  const auto b = arena.allocate(256);
  const auto c = arena.allocate(256);
  arena.allocate(256);
  arena.release(a, 256);
  arena.release(c, 256);
  arena.release(b, 256);
  EXPECT_EQ(arena.allocate(768), a);
}

TEST(Arena, ExtentStaysAtItsHighestEnd) {
  Arena arena;
  const auto a = arena.allocate(1024);
  arena.release(a, 1024);
  EXPECT_EQ(arena.allocate(256), 0);
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
