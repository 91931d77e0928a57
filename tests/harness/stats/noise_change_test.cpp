#include "harness/stats/noise_change.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "harness/stats/screen.h"

namespace perfbench::harness {
namespace {

std::vector<double> noisy_nights(std::size_t count, std::size_t doubled_from, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> noise(0.0, 0.01);
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(3.0 + noise(engine) * (i >= doubled_from ? 3 : 1));
  return out;
}

TEST(NoiseChange, IsFoundWithItsRatio) {
  const auto found = find_noise_change(noisy_nights(134, 104, 1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->since, 104U);
  EXPECT_NEAR(found->ratio, 3, 1);
  EXPECT_GT(found->ratio, found->threshold);
}

TEST(NoiseChange, IsNoStepNoSpikeAndNoQuietSeries) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    EXPECT_FALSE(find_noise_change(noisy_nights(134, 134, seed))) << seed;
    auto stepped = noisy_nights(134, 134, seed);
    for (std::size_t i = 120; i < 134; ++i) stepped[i] += 0.3;
    EXPECT_FALSE(find_noise_change(stepped)) << seed << ": a step";
    auto spiky = noisy_nights(134, 134, seed);
    spiky[125] += 0.3;
    EXPECT_FALSE(find_noise_change(spiky)) << seed << ": a spike";
  }
}

TEST(NoiseChange, NeedsSeventyNights) {
  EXPECT_FALSE(find_noise_change(noisy_nights(69, 39, 1)));
  EXPECT_TRUE(find_noise_change(noisy_nights(70, 40, 1)));
}

TEST(NoiseChange, IsNotFoundInNightsThatRepeatExactly) {
  EXPECT_FALSE(find_noise_change(std::vector<double>(134, 1.0)));
}

// A shift of six deviations of the newest nights. Were they clipped at four deviations of the nights before, it would
// look like one of 4 / 3.
TEST(NoiseChange, DoesNotHideAShiftThatIsLargeBesideTheNewNoise) {
  constexpr int kTrials = 20;
  int found = 0;
  for (unsigned seed = 0; seed < kTrials; ++seed) {
    auto nights = noisy_nights(137, 118, seed);
    ASSERT_GT(newest_scatter(nights), 1.5) << seed;
    for (std::size_t i = 134; i < 137; ++i) nights[i] += 6 * 0.03;
    found += screen(nights, with_share({}, 0.02)) ? 1 : 0;
  }
  EXPECT_GE(found, kTrials - 1);
}

}  // namespace
}  // namespace perfbench::harness
