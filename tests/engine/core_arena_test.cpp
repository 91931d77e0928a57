#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/core/error.h"
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

// The base counts as well as the offset, whatever was allocated earlier.
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

// Compared with a plain list of live intervals: no two overlap, whatever the order of calls.
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

// Bytes of the mapping at `address` that are in this process's memory.
std::int64_t resident_bytes(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::int64_t kilobytes = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      inside = begin <= wanted && wanted < end;
    } else if (inside && std::sscanf(line.c_str(), "Rss: %" SCNd64 " kB", &kilobytes) == 1) {
      return kilobytes * 1024;
    }
  }
  return -1;
}

// Behind the last tensor the kernel may have mapped the rest of a large page of the file: 2 MiB at most.
constexpr std::int64_t kLargePage = std::int64_t{2} << 20;

TEST(FileBacking, PutAsideOrReleasedMemoryIsFreedAndItsContentsAreKept) {
  Memory memory(make_cpu_backing(), make_file_backing(testing::TempDir()), {});
  constexpr std::int64_t kElements = 5'000'003;  // more than the file grows by at once, in several pieces
  std::vector<Tensor> tensors;
  for (int i = 0; i < 5; ++i) {
    tensors.emplace_back(memory, TensorRequest{"kept", MemoryScope::host, DType::f32, Shape{kElements}});
    std::iota(tensors.back().view().as<float>(), tensors.back().view().as<float>() + kElements, static_cast<float>(i));
  }
  const void* const base = tensors.front().view().data;
  EXPECT_GE(resident_bytes(base), 5 * 4 * kElements);
  for (auto& tensor : tensors) tensor.put_aside();
  EXPECT_LT(resident_bytes(base), kLargePage);
  for (int i = 0; i < 5; ++i) {
    const auto* const values = tensors[static_cast<std::size_t>(i)].view().as<const float>();
    EXPECT_EQ(values[0], static_cast<float>(i));
    EXPECT_EQ(values[kElements - 1], static_cast<float>(i) + static_cast<float>(kElements - 1));
  }
  EXPECT_GT(resident_bytes(base), 0);
  tensors.clear();
  EXPECT_LT(resident_bytes(base), kLargePage);
}

std::string failure_of(const std::filesystem::path& folder) {
  Memory memory(make_cpu_backing(), make_file_backing(folder), {});
  try {
    const Tensor big(memory, {"big", MemoryScope::host, DType::f32, Shape{std::int64_t{1} << 26}});
  } catch (const OutOfMemory& e) {
    return e.what();
  }
  return "";
}

// As on a full disk: the error comes when space is allocated, not as a signal when it is written to.
TEST(FileBacking, SaysWhyItsFileCannotBeCreated) {
  const std::filesystem::path folder = testing::TempDir();
  EXPECT_EQ(failure_of(folder), "");
  EXPECT_EQ(failure_of(folder / "missing"), "offloaded values go to a file in " + (folder / "missing").string() +
                                                ": it cannot be created: No such file or directory");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 1 << 20;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string found = failure_of(folder);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(found, testing::HasSubstr("it cannot grow to 268435456 bytes: File too large"));
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_THAT(entry.path().filename().string(), testing::Not(testing::StartsWith("offloaded.")));
  }
}

}  // namespace
}  // namespace perfbench::engine
