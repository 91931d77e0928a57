#include "workloads/spec/finiteness.h"

#include <gtest/gtest.h>

#include <limits>

namespace perfbench::spec {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

StepRecord step_of(std::int64_t rank, std::int64_t step, double loss, double grad_norm) {
  return {.rank = rank, .step = step, .loss = loss, .grad_norm = grad_norm};
}

TEST(Finiteness, IsSilentIfAllNumbersAreFinite) {
  Finiteness found;
  found.look_at(step_of(0, 0, 5.5, 0));
  found.look_at(step_of(0, 1, -1e308, 1e308));
  EXPECT_FALSE(found.diverged());
  EXPECT_EQ(found.text(), "");
}

TEST(Finiteness, NamesTheFirstStepOfEachAndKeepsNaNAndInfinityApart) {
  Finiteness found;
  found.look_at(step_of(0, 2, 5, kInfinite));
  found.look_at(step_of(0, 3, kNotANumber, kNotANumber));
  found.look_at(step_of(0, 4, kInfinite, kNotANumber));
  EXPECT_TRUE(found.diverged());
  EXPECT_EQ(found.text(), "the loss became NaN at step 3; the gradient norm became infinite at step 2");
}

// The records of a run come rank by rank.
TEST(Finiteness, TakesTheFirstStepOverAllRanks) {
  Finiteness found;
  found.look_at(step_of(0, 4, kNotANumber, 1));
  found.look_at(step_of(1, 3, -kInfinite, 1));
  found.look_at(step_of(1, 4, kNotANumber, 1));
  EXPECT_EQ(found.text(), "the loss became infinite at step 3");
}

TEST(Finiteness, GradientsAloneDoNotMakeARunDiverged) {
  Finiteness found;
  found.look_at(step_of(0, 0, 5, kNotANumber));
  EXPECT_FALSE(found.diverged());
  EXPECT_EQ(found.text(), "the gradient norm became NaN at step 0");
}

}  // namespace
}  // namespace perfbench::spec
