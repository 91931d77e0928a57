#include "harness/stats/screen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace perfbench::harness {
namespace {

std::vector<double> gaussian(std::size_t nights, unsigned seed, double sigma = 0.01) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> noise(0.0, sigma);
  std::vector<double> out(nights);
  for (auto& x : out) x = 3.0 + noise(engine);
  return out;
}

std::vector<double> shifted(std::vector<double> logs, std::size_t first, double shift) {
  for (auto i = first; i < logs.size(); ++i) logs[i] += shift;
  return logs;
}

TEST(Screen, FindsAShiftOnItsFirstNightWhenItIsLarge) {
  const auto found = screen(shifted(gaussian(80, 2), 79, 0.08));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 79U);
  EXPECT_NEAR(found->shift_log, 0.08, 0.03) << "three standard deviations of one night";
  EXPECT_NEAR(found->sigma, 0.01, 0.003);
  EXPECT_GT(found->score, found->threshold);
}

// Eight deviations exceed two limits by more than their noise: 3.6, which is Student's t with 64 degrees of freedom for
// one night in four years, and 1.17 times the largest of 65 nights, at most 3.9.
TEST(ScreenSimulation, FindsALargeShiftOnItsFirstNight) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    EXPECT_TRUE(screen(shifted(gaussian(80, seed), 79, 0.08))) << seed;
  }
}

TEST(Screen, ANightAloneMustExceedAllPreviousSteps) {
  auto spiky = gaussian(80, 2);
  for (std::size_t i = 5; i < 80; i += 15) spiky[i] += 0.1;
  EXPECT_FALSE(screen(shifted(spiky, 79, 0.08))) << "what this series does by itself";
  const auto found = screen(shifted(spiky, 79, 0.20));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 79U);
  // 1.16 times the largest step of 65, which is 0.1 and the noise of two nights, together about 0.02 at most; in robust
  // deviations, which are below those of an innovation.
  EXPECT_GT(found->threshold * found->sigma, 1.16 * 0.08);
}

TEST(ScreenBudget, DividesWhatAMatrixMayScreenAmongItsSeries) {
  const ScreenRule one;
  EXPECT_EQ(rule_within({}, 36).screens_per_year, one.screens_per_year) << "36 series screen 0.197 times a night";
  const auto of_600 = rule_within({}, 600);
  EXPECT_LT(600 * of_600.screens_per_year / 365.25, 0.2);
  EXPECT_LT(rule_within({}, 1200).screens_per_year, of_600.screens_per_year);
  EXPECT_NEAR(of_600.lone_nights_per_year / one.lone_nights_per_year, of_600.screens_per_year / one.screens_per_year,
              1e-12)
      << "a single night far off costs a comparison, too";
  EXPECT_EQ(rule_within({.screens_per_night = 4}, 600).screens_per_year, one.screens_per_year);
}

// In tenths of a per cent, of the last 7 of 134 nights that deviate by 1 %.
int smallest_found(const ScreenRule& rule) {
  for (int tenths = 1; tenths < 100; ++tenths) {
    if (screen(shifted(gaussian(134, 3), 127, 0.001 * tenths), rule)) return tenths;
  }
  return 100;
}

// Two screens a year are 22 of 2000 draws, which are counted. The 0.07 of one of 600 series are fewer than one draw,
// which is extrapolated.
TEST(ScreenBudget, AsksMoreOfASeriesTheFewerScreensItMayHave) {
  const auto series = shifted(gaussian(134, 3), 127, 0.03);
  const auto alone = screen(series);
  const auto of_many = screen(series, rule_within({}, 600));
  ASSERT_TRUE(alone && of_many);
  EXPECT_NEAR(alone->threshold, 3.2, 0.2) << "1.1 % of Gaussian series exceed it: 3.18 of 60000";
  EXPECT_NEAR(of_many->threshold, 4.2, 0.3) << "0.04 % exceed it: 0.067 % exceed 3.93, 0.015 % exceed 4.51";
  // A standard error of such a shift is 0.41 %: 3.2 and 4.2 of them are 4 tenths of a per cent apart.
  EXPECT_GE(smallest_found(rule_within({}, 600)), smallest_found({}) + 2);
}

// A night exceeds the largest of 119 nights once in 120 nights. With 59 nights that would happen twice as often, so the
// limit is 1.19 times as high.
TEST(Screen, ARecordNeedsLessTheMoreNightsAreKnown) {
  auto spiky = gaussian(134, 2);
  for (std::size_t i = 3; i < 134; i += 10) spiky[i] = 3.1;
  spiky.back() = 3.11;
  const auto found = screen(spiky);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 133U);
  EXPECT_FALSE(screen({spiky.end() - 74, spiky.end()}));
}

TEST(Screen, TheReturnFromASpikeIsNoStep) {
  // Nights of AR(1) 0.6, so that an ordinary night after a spike of 60 deviations would be 36 below the prediction from
  // that spike.
  std::mt19937_64 engine(9);
  std::normal_distribution<double> noise(0.0, 0.01);
  std::vector<double> logs{0.0};
  for (int i = 0; i < 120; ++i) logs.push_back(0.6 * logs.back() + noise(engine));
  logs[logs.size() - 2] += 0.6;
  EXPECT_FALSE(screen(logs));
}

TEST(Screen, DatesASmallerShiftAndTellsItsSign) {
  const auto slower = screen(shifted(gaussian(80, 2), 70, 0.025));
  const auto faster = screen(shifted(gaussian(80, 2), 70, -0.025));
  ASSERT_TRUE(slower && faster);
  EXPECT_NEAR(static_cast<double>(slower->first), 70, 1);
  EXPECT_GT(slower->shift_log, 0.015);
  EXPECT_LT(faster->shift_log, -0.015);
}

// Forty deviations: no earlier night counts as shifted, although a clipped night shows at most four deviations.
TEST(ScreenSimulation, DatesALargeShiftToItsNight) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const auto found = screen(shifted(gaussian(82, seed), 80, 0.4));
    ASSERT_TRUE(found) << seed;
    EXPECT_EQ(found->first, 80U) << seed;
  }
}

// Twelve nights were faster by ten deviations, and the newest is not.
TEST(Screen, IgnoresAShiftThatIsOver) {
  auto logs = gaussian(80, 2);
  for (std::size_t i = 67; i < 79; ++i) logs[i] -= 0.1;
  EXPECT_TRUE(screen({logs.begin(), logs.end() - 1}));
  EXPECT_FALSE(screen(logs));
}

// Going half of the way back is not a return, and neither is one ordinary night after a small shift.
TEST(Screen, ReportsAShiftThatIsNotFullyOver) {
  auto logs = gaussian(80, 2);
  for (std::size_t i = 67; i < 80; ++i) logs[i] -= i == 79 ? 0.06 : 0.1;
  EXPECT_TRUE(screen(logs));
  auto small = shifted(gaussian(80, 2), 67, 0.03);
  small.back() = 3.012;
  EXPECT_TRUE(screen(small));
}

TEST(Screen, CountsNightsInTheWholeSegmentHoweverLong) {
  const auto found = screen(shifted(gaussian(400, 3), 395, 0.05));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 395U);
}

TEST(Screen, NeedsTwelveNightsBeforeAShift) {
  EXPECT_FALSE(largest_shift(shifted(gaussian(12, 4), 11, 1.0), {}));
  EXPECT_FALSE(screen(shifted(gaussian(12, 4), 11, 1.0)));
  EXPECT_TRUE(screen(shifted(gaussian(13, 5), 12, 1.0)));
  EXPECT_FALSE(screen({}));
}

TEST(Screen, FindsOnlyShiftsThatMatterInASeriesThatRepeatsExactly) {
  const std::vector<double> bytes(60, 20.0);
  EXPECT_FALSE(screen(bytes));
  EXPECT_FALSE(screen(shifted(bytes, 59, 0.0003)));
  EXPECT_TRUE(screen(shifted(bytes, 59, 0.01)));
}

TEST(Screen, IsNotMovedByAnOldSpike) {
  auto logs = gaussian(80, 5);
  const auto before = *largest_shift(logs, {});
  logs[60] += 100;
  const auto after = *largest_shift(logs, {});
  // Clipped, one night of 40 moves the previous level by at most 4 / 40 of a deviation, a tenth.
  EXPECT_NEAR(after.score, before.score, 1.0);
  EXPECT_FALSE(screen(logs));
}

TEST(Screen, JudgesAWanderingSeriesByItsOwnScale) {
  std::mt19937_64 engine(6);
  std::normal_distribution<double> noise(0.0, 0.01);
  std::vector<double> logs{0.0};
  for (int i = 0; i < 200; ++i) logs.push_back(0.8 * logs.back() + noise(engine));
  // 14 nights at +2.5 of these deviations: a common excursion of this series, but not of white noise.
  auto white = gaussian(200, 7, 0.0167);
  for (std::size_t i = 0; i < 8; ++i) {
    logs.push_back(0.8 * logs.back() + noise(engine) + 0.006);
    white.push_back(3.0 + 0.03);
  }
  EXPECT_FALSE(screen(logs));
  EXPECT_TRUE(screen(white));
}

TEST(Screen, IsDeterministic) {
  const auto logs = shifted(gaussian(100, 8), 95, 0.025);
  const auto a = screen(logs);
  const auto b = screen(logs);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->threshold, b->threshold);
}

// 8 unchanged series of a year with 2 expected screens each: 16 in all, and in 99.9 % of cases at most 16 + 3.1 *
// sqrt(16) + the clustering of screens (a third).
TEST(ScreenSimulation, UnchangedSeriesMeetTheThresholdAboutTwiceAYear) {
  int screens = 0;
  for (unsigned series = 0; series < 8; ++series) {
    const auto logs = gaussian(40 + 365, 100 + series);
    bool before = false;
    for (std::size_t n = 40; n <= logs.size(); ++n) {
      const bool now = screen({logs.begin(), logs.begin() + static_cast<std::ptrdiff_t>(n)}).has_value();
      screens += now && !before;
      before = now;
    }
  }
  EXPECT_LE(screens, 33);
  EXPECT_GE(screens, 4) << "the screen would be without power";
}

}  // namespace
}  // namespace perfbench::harness
