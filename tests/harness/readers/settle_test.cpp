#include "harness/readers/settle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace perfbench::readers {
namespace {

using spec::Sample;
using spec::SampleKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Sample time_of(std::int64_t step, double seconds, std::int64_t covers = 1) {
  return {.metric = "step_time_s",
          .step = step,
          .covers = covers,
          .value = seconds,
          .kind = covers == 1 ? SampleKind::per_step : SampleKind::window_mean};
}

std::vector<std::int64_t> steps_of(const Settled& settled) {
  std::vector<std::int64_t> out;
  for (const auto& sample : settled.samples) out.push_back(sample.step);
  return out;
}

TEST(Settle, LeavesOutTheTimesOfFirstStepsAndKeepsTheirLosses) {
  std::vector<Sample> samples;
  for (std::int64_t step = 0; step < 5; ++step) {
    samples.push_back(time_of(step, 1));
    samples.push_back({.metric = "loss", .step = step, .value = 2});
  }
  const auto settled = settle(samples, {.drop = 3});
  EXPECT_THAT(steps_of(settled), ElementsAre(0, 1, 2, 3, 4, 3, 4));
  EXPECT_EQ(settled.steps, 5);
}

TEST(Settle, LeavesOutAWindowThatHasOneOfThem) {
  const auto settled = settle({time_of(1, 9), time_of(10, 2, 10), time_of(20, 1, 10), time_of(30, 3, 10)}, {.drop = 2});
  EXPECT_THAT(steps_of(settled), ElementsAre(20, 30));
  EXPECT_DOUBLE_EQ(mean_step_time_s(settled), 2);
}

TEST(Settle, WeighsWindowsByTheirSteps) {
  EXPECT_DOUBLE_EQ(mean_step_time_s(settle({time_of(30, 1, 30), time_of(40, 3, 10)}, {})), 1.5);
}

TEST(Settle, NeverTakesAMeanSinceTheStartForASample) {
  auto mean = time_of(5, 7);
  mean.kind = SampleKind::since_start_mean;
  auto average = Sample{.metric = "stated.tokens_per_s", .step = 4, .value = 100, .kind = SampleKind::ema};
  const auto settled = settle({time_of(4, 1), average, time_of(5, 2), mean}, {});
  EXPECT_THAT(steps_of(settled), ElementsAre(4, 5));
  ASSERT_EQ(settled.run_values.size(), 2U);
  EXPECT_EQ(settled.run_values[0].value, 100);
  EXPECT_EQ(settled.run_values[1].value, 7);
}

TEST(Settle, LeavesOutTimesOverAnUnknownNumberOfSteps) {
  const auto settled = settle({time_of(1010, 1, 0), time_of(1020, 1, 10)}, {});
  EXPECT_THAT(steps_of(settled), ElementsAre(1020));
  EXPECT_EQ(settled.steps, 20);  // it continues from a checkpoint
  EXPECT_THAT(settled.notes, Contains(HasSubstr("unknown number of steps")));
}

TEST(Settle, CountsARepeatedStepOnce) {
  const auto settled = settle({time_of(1, 1), time_of(1, 1), time_of(2, 1), time_of(2, 1)}, {});
  EXPECT_THAT(steps_of(settled), ElementsAre(1, 2));
  EXPECT_EQ(settled.quarantine, "");
}

TEST(Settle, QuarantinesStepsWithTwoValues) {
  const auto settled = settle({time_of(1, 1), time_of(2, 1), time_of(2, 3), time_of(3, 1)}, {});
  EXPECT_THAT(settled.quarantine, HasSubstr("step 2 taken twice"));
  EXPECT_EQ(settled.samples[1].value, 3);
}

TEST(Settle, QuarantinesARunThatIsTooShort) {
  EXPECT_THAT(settle({time_of(0, 1), time_of(1, 1)}, {.drop = 0, .steps = 4}).quarantine, HasSubstr("2 of 4 steps"));
  EXPECT_EQ(settle({time_of(0, 1), time_of(1, 1)}, {.drop = 0, .steps = 2}).quarantine, "");
  EXPECT_THAT(settle({}, {.drop = 0, .steps = 2}).quarantine, HasSubstr("0 of 2 steps"));
}

TEST(Settle, SaysThatTimesAreTooCoarse) {
  auto coarse = time_of(1, 0.02);
  coarse.resolution = 0.001;
  const auto settled = settle({coarse, time_of(2, 0.02)}, {});
  EXPECT_DOUBLE_EQ(settled.time_resolution_fraction, 0.05);
  EXPECT_THAT(settled.notes, Contains(HasSubstr("5 % of a step")));
  coarse.resolution = 0.0001;
  EXPECT_THAT(settle({coarse}, {}).notes, IsEmpty());
}

TEST(Settle, FindsTheFirstLossThatIsNotANumber) {
  const Sample lost{.metric = "loss", .step = 3, .value = std::numeric_limits<double>::infinity()};
  EXPECT_EQ(settle({lost}, {}).lost_loss_at, 3);
  EXPECT_FALSE(settle({time_of(1, 1)}, {}).lost_loss_at);
}

TEST(Settle, GivesTheTimesBetweenArrivalsByTheStepsBetweenThem) {
  std::vector<Sample> losses;
  for (std::int64_t step = 0; step <= 40; step += 10) {
    losses.push_back({.metric = "loss", .step = step, .value = 1, .at_ns = step * 1'000'000});
  }
  const auto settled = settle(losses, {});
  EXPECT_TRUE(settled.times_of_arrival);
  EXPECT_DOUBLE_EQ(mean_step_time_s(settled), 1e-3);
  losses[2].at_ns.reset();
  EXPECT_TRUE(settle(losses, {}).has_times);  // two pairs are left
}

TEST(Settle, NoSamplesGiveNothing) {
  const auto settled = settle({}, {});
  EXPECT_TRUE(settled.samples.empty());
  EXPECT_FALSE(settled.has_times);
  EXPECT_EQ(mean_step_time_s(settled), 0);
}

}  // namespace
}  // namespace perfbench::readers
