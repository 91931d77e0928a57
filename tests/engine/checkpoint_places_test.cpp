// The elements that two parts of a parameter share, compared with lists of every element.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "engine/checkpoint/element_places.h"
#include "tests/engine/random_runs.h"

namespace perfbench::engine {
namespace {

std::vector<std::int64_t> elements_of(const ElementPlaces& part) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = part.skip; i < part.skip + part.count; ++i) {
    out.push_back(part.first + i / part.run * part.stride + i % part.run);
  }
  return out;
}

ElementPlaces random_places_of(Draws& draws) {
  ElementPlaces part;
  part.first = draws.number(0, 9);
  part.run = draws.number(1, 7);
  part.stride = part.run + (draws.once_in(3) ? 0 : draws.number(0, 9));
  part.skip = draws.number(0, 11);
  part.count = draws.number(1, 30);
  return part;
}

TEST(ElementPlaces, ArePairedWithTheSameElementsOfAnotherPart) {
  std::int64_t pairs = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    Draws draws(seed);
    const auto a = random_places_of(draws);
    const auto b = random_places_of(draws);
    std::map<std::int64_t, std::int64_t> in_b;
    const auto of_b = elements_of(b);
    for (std::size_t i = 0; i < of_b.size(); ++i) in_b[of_b[i]] = static_cast<std::int64_t>(i);
    std::map<std::int64_t, std::int64_t> expected;
    const auto of_a = elements_of(a);
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      if (in_b.contains(of_a[i])) expected[static_cast<std::int64_t>(i)] = in_b[of_a[i]];
    }
    std::map<std::int64_t, std::int64_t> found;
    for_each_common(a, b, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) EXPECT_TRUE(found.emplace(from + i, to + i).second) << seed;
    });
    ASSERT_EQ(found, expected) << seed;
    EXPECT_EQ(common_elements(a, b), std::ssize(expected));
    pairs += std::ssize(expected);
  }
  EXPECT_GT(pairs, 10'000);  // many of the parts do overlap
}

}  // namespace
}  // namespace perfbench::engine
