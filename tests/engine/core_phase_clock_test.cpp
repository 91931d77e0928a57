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

// A device whose marks are `gap_ns` apart.
class FakeTimeline : public Timeline {
 public:
  std::int64_t gap_ns = 10;
  void start() override { marks_ = 1; }
  void mark() override { ++marks_; }
  void skip(std::size_t marks) override { marks_ += marks; }
  std::vector<std::int64_t> gaps_ns() override { return std::vector<std::int64_t>(marks_ - 1, gap_ns); }

 private:
  std::size_t marks_ = 0;
};

void one_phase_in_another(PhaseClock& clock) {
  PhaseClock::Scope backward(clock, Phase::backward);
  PhaseClock::Scope wait(clock, Phase::exposed_comm);
}

TEST(PhaseClock, TakesTheTimesOfATimeline) {
  FakeTimeline device;
  PhaseClock clock(&device);
  for (int step = 0; step < 2; ++step) {
    clock.start();
    one_phase_in_another(clock);
    clock.stop();
    // The gaps: before backward, backward, the wait, backward again, after it.
    EXPECT_EQ(clock.phase_ns(Phase::other), 20);
    EXPECT_EQ(clock.phase_ns(Phase::backward), 20);
    EXPECT_EQ(clock.phase_ns(Phase::exposed_comm), 10);
    EXPECT_EQ(clock.wall_ns(), 50);
  }
}

TEST(PhaseClock, RepeatsThePhasesOfARecording) {
  FakeTimeline device;
  PhaseClock clock(&device);
  clock.start();
  const auto before = clock.moment();
  one_phase_in_another(clock);
  const auto recorded = clock.since(before);
  clock.stop();
  clock.start();
  clock.repeat(recorded);
  clock.repeat(recorded);
  clock.stop();
  EXPECT_EQ(clock.phase_ns(Phase::backward), 40);
  EXPECT_EQ(clock.phase_ns(Phase::exposed_comm), 20);
  EXPECT_EQ(clock.wall_ns(), 90);
}

TEST(PhaseClock, WithoutATimelineHasNothingToRepeat) {
  made_up_now = 0;
  PhaseClock clock(read_made_up);
  clock.start();
  one_phase_in_another(clock);
  EXPECT_TRUE(clock.since(0).phases.empty());
  clock.stop();
}

}  // namespace
}  // namespace perfbench::engine
