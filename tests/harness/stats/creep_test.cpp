#include "harness/stats/creep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace perfbench::harness {
namespace {

std::vector<double> nights(std::size_t count, unsigned seed, double sigma = 0.01) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> noise(0.0, sigma);
  std::vector<double> out(count);
  for (auto& x : out) x = 3.0 + noise(engine);
  return out;
}

std::vector<double> crept(std::vector<double> logs, std::size_t last_level, double per_night) {
  for (auto i = last_level + 1; i < logs.size(); ++i) logs[i] += per_night * static_cast<double>(i - last_level);
  return logs;
}

// A knee of 0.2 deviations a night is known to a few nights.
TEST(Creep, IsFoundWithItsBeginning) {
  int found = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const auto creep = find_creep(crept(nights(54, seed), 23, 0.002));
    if (!creep) continue;
    ++found;
    EXPECT_NEAR(static_cast<double>(creep->last_level), 23, 12) << seed;
    EXPECT_NEAR(creep->per_night, 0.002, 0.0012) << seed;
  }
  EXPECT_GE(found, 34) << "30 nights creep by 6 %";
}

TEST(Creep, FallsAsWellAsItRises) {
  const auto creep = find_creep(crept(nights(54, 1), 23, -0.004));
  ASSERT_TRUE(creep);
  EXPECT_LT(creep->per_night, 0);
}

// A step fits these nights as well as any trend.
TEST(Creep, IsFoundInNoStepAndNoQuietSeries) {
  int found = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    auto stepped = nights(54, seed);
    for (auto i = stepped.size() - 1 - seed % 14; i < stepped.size(); ++i) stepped[i] += 0.03;
    found += find_creep(stepped).has_value() ? 1 : 0;
    found += find_creep(nights(54, 1000 + seed)).has_value() ? 1 : 0;
  }
  EXPECT_LE(found, 2) << "of 200";
}

TEST(Creep, IsNotMadeOfOneSpike) {
  auto spiky = nights(54, 7);
  spiky[50] += 0.3;
  EXPECT_FALSE(find_creep(spiky));
}

TEST(Creep, IsFoundInNightsThatRepeatExactly) {
  EXPECT_FALSE(find_creep(std::vector<double>(54, 1.0)));
  const auto creep = find_creep(crept(std::vector<double>(54, 1.0), 30, 0.001));
  ASSERT_TRUE(creep);
  EXPECT_NEAR(static_cast<double>(creep->last_level), 30, 1);
  EXPECT_FALSE(find_creep(crept(std::vector<double>(25, 1.0), 10, 0.001))) << "too few";
}

}  // namespace
}  // namespace perfbench::harness
