#include "workloads/spec/expert_rows.h"

#include <gtest/gtest.h>

namespace perfbench::spec {
namespace {

// GLaM 126M/64E as praxis runs it: int(2048 * 2.0 / 64) = 64 slots, a multiple of 4.
TEST(ExpertSlots, GshardTakesFoursOfTheShareOfTokens) {
  MoeSpec moe{.n_experts = 64, .top_k = 2, .routing = MoeRouting::top2_gshard, .capacity_factor = 2.0};
  EXPECT_EQ(expert_slots(moe, 2048), 64);
  EXPECT_EQ(expert_slots(moe, 2064), 64);  // int(64.5)
  EXPECT_EQ(expert_slots(moe, 2080), 68);  // int(65) and up
  EXPECT_EQ(expert_slots(moe, 32), 1);
  EXPECT_EQ(expert_slots(moe, 5), 1);
  // int(T * factor / E), in this order: 2000 * 1.2 / 96 is 25, but 2000 / 96 * 1.2 is slightly less.
  moe = {.n_experts = 96, .top_k = 2, .routing = MoeRouting::top2_gshard, .capacity_factor = 1.2};
  EXPECT_EQ(expert_slots(moe, 2000), 28);
  moe.capacity_factor = 1.4;
  EXPECT_EQ(expert_slots(moe, 1440), 20);
}

// Mixtral as MaxText and torchprime run it: int(ceil(8192 * 2 / 8) * 1.25) = 2560.
TEST(ExpertSlots, TopKTakesTheShareOfChoices) {
  MoeSpec moe{.n_experts = 8, .top_k = 2, .capacity_factor = 1.25};
  EXPECT_EQ(expert_slots(moe, 8192), 2560);
  EXPECT_EQ(expert_slots(moe, 9), 3);  // int(ceil(18 / 8) * 1.25)
  moe.capacity_factor = 0.25;
  EXPECT_EQ(expert_slots(moe, 9), 1);
  moe.capacity_factor = 0.0;
  EXPECT_EQ(expert_slots(moe, 8192), 0);
}

RunSpec run_of(std::int64_t ep) {
  RunSpec run;
  run.model.moe = {.n_experts = 8, .top_k = 2};
  run.mesh.ici.ep = ep;
  run.seq_len = 100;
  run.global_batch = 3 * ep;
  return run;
}

TEST(ExpertRows, AreAllChoicesIfOneRankHasAllExperts) {
  EXPECT_EQ(expert_rows(run_of(1)), 600);
}

TEST(ExpertRows, AreAShareTimesTheBufferFactorButNoMoreThanAllChoices) {
  EXPECT_EQ(expert_rows(run_of(2)), 600);
  EXPECT_EQ(expert_rows(run_of(8)), 150);
  auto wide = run_of(8);
  wide.expert_buffer_factor = 100.0;
  EXPECT_EQ(expert_rows(wide), 300);  // one expert, which a token chooses once
  auto run = run_of(8);
  run.expert_buffer_factor = 1.01;
  EXPECT_EQ(expert_rows(run), 76);
}

TEST(ExpertRows, AreAllSlotsOfARanksExpertsWithACapacity) {
  auto run = run_of(4);
  run.model.moe.capacity_factor = 1.25;  // int(25 * 1.25) = 31 slots for each of three sequences
  EXPECT_EQ(expert_rows(run), 2 * 3 * 31);
}

}  // namespace
}  // namespace perfbench::spec
