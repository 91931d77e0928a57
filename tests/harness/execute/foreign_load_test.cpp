#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/execute/machine_load.h"

namespace perfbench::harness {
namespace {

LoadMoment moment(CpuSnapshot::Core core0, CpuSnapshot::Core core1, double own_s) {
  LoadMoment out{.own_s = own_s};
  out.cpus.by_core = {{0, core0}, {1, core1}};
  out.cpus.cores = 2;
  out.cpus.total_ticks = core0.total_ticks + core1.total_ticks;
  return out;
}

TEST(ForeignLoad, IsTheTimeOfTheCoresBeyondOurOwn) {
  const auto before = moment({}, {}, 1.0);
  // 100 ticks a core at 100 a second: 150 busy together, of which 0.9 s belong to us; 10 stolen.
  const auto after = moment({100, 80, 10}, {100, 70, 0}, 1.9);
  const auto load = load_between(before, after, {0, 1}, 100, 1);
  EXPECT_DOUBLE_EQ(load.foreign_fraction, (150.0 - 90.0) / 200);
  EXPECT_DOUBLE_EQ(load.steal_fraction, 10.0 / 200);
}

TEST(ForeignLoad, CountsOnlyTheCoresThatWeMayUse) {
  const auto before = moment({}, {}, 0);
  const auto after = moment({100, 50, 0}, {100, 100, 0}, 0.5);
  EXPECT_DOUBLE_EQ(load_between(before, after, {0}, 100, 1).foreign_fraction, 0);
}

TEST(ForeignLoad, IsUnknownAfterAFewTicks) {
  const auto load = load_between(moment({}, {}, 0), moment({9, 9, 0}, {9, 9, 9}, 0), {0, 1}, 100, 1);
  EXPECT_EQ(load.foreign_fraction, 0);
  EXPECT_EQ(load.steal_fraction, 0);
}

TEST(ForeignLoad, NamesTheBusiestOfTheOthers) {
  auto before = moment({}, {}, 0);
  auto after = moment({100, 90, 0}, {100, 0, 0}, 0);
  after.cpus.processes = {{7, {.name = "cc1plus", .ticks = 90}}, {8, {.name = "self", .ticks = 95}}};
  EXPECT_EQ(load_between(before, after, {0, 1}, 100, 8).busiest, "cc1plus (pid 7) on 0.90 cores");
}

// Reads the kernel's own counters of this machine: our own work does not count as foreign.
TEST(ForeignLoad, ThisMachineHasTheCoresThatWeMayUse) {
  EXPECT_FALSE(own_cores().empty());
  const auto now = load_moment();
  EXPECT_GT(now.own_s, 0);
  for (const auto core : own_cores()) EXPECT_GT(now.cpus.by_core.at(core).total_ticks, 0);
}

}  // namespace
}  // namespace perfbench::harness
