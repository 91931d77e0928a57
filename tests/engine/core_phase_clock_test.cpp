#include <gtest/gtest.h>

#include "engine/metrics/phase_clock.h"

namespace perfbench::engine {
namespace {

std::int64_t made_up_now = 0;
std::int64_t read_made_up() {
  return made_up_now;
}

TEST(PhaseClock, PausesTheOuterPhaseAndSumsToTheWall) {
  made_up_now = 1000;
  PhaseClock clock(read_made_up);
  clock.start();
  made_up_now += 5;
  {
    PhaseClock::Scope backward(clock, Phase::backward);
    made_up_now += 100;
    {
      PhaseClock::Scope wait(clock, Phase::exposed_comm);
      made_up_now += 30;
    }
    made_up_now += 10;
  }
  made_up_now += 7;
  clock.stop();
  EXPECT_EQ(clock.phase_ns(Phase::backward), 110);
  EXPECT_EQ(clock.phase_ns(Phase::exposed_comm), 30);
  EXPECT_EQ(clock.phase_ns(Phase::other), 12);
  EXPECT_EQ(clock.wall_ns(), 152);
}

TEST(PhaseClock, StartsEveryStepAtZero) {
  made_up_now = 0;
  PhaseClock clock(read_made_up);
  clock.start();
  {
    PhaseClock::Scope forward(clock, Phase::forward);
    made_up_now += 9;
  }
  clock.stop();
  clock.start();
  clock.stop();
  EXPECT_EQ(clock.phase_ns(Phase::forward), 0);
  EXPECT_EQ(clock.wall_ns(), 0);
}

}  // namespace
}  // namespace perfbench::engine
