// Meshes whose ranks divide experts train like one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/core/error.h"
#include "tests/engine/example_runs.h"
#include "tests/mpi/mesh_training.h"
#include "workloads/spec/remat_policy.h"

namespace perfbench::engine {
namespace {

// Meshes that divide experts, alone and together with every other axis.
std::vector<MeshCase> expert_meshes() {
  const auto n = world().size();
  std::vector<MeshCase> all{{"ep1", {.ici = {.fsdp = n}}}};
  if (n == 2 || n == 4) {
    all.push_back({"ep", {.ici = {.ep = n}}});
    all.push_back({"dcn.ep", {.dcn = {.ep = n}}});
  }
  if (n >= 4) {
    all.push_back({"ep2 x tp2", {.ici = {.dp = n / 4, .tp = 2, .ep = 2}}});
    all.push_back({"ep2 x fsdp", {.ici = {.fsdp = n / 2, .ep = 2}}});
    all.push_back({"dcn.ep2 x ici.dp", {.ici = {.dp = n / 2}, .dcn = {.ep = 2}}});
    all.push_back({"pp2 x ep2", {.ici = {.fsdp = n / 4, .ep = 2, .pp = 2}}});
  }
  if (n == 8) {
    all.push_back({"dcn.ep2 x ici.ep2 x fsdp2", {.ici = {.fsdp = 2, .ep = 2}, .dcn = {.ep = 2}}});
    all.push_back({"ep2 x tp2 x fsdp2", {.ici = {.fsdp = 2, .tp = 2, .ep = 2}}});
    all.push_back({"dcn.pp2 x ici.ep2 x tp2", {.ici = {.tp = 2, .ep = 2}, .dcn = {.pp = 2}}});
  }
  return all;
}

// Models in which the balancing loss contributes as much to the gradients as the loss, so that a wrong scale of it
// shows in the norm.
std::vector<spec::RunSpec> runs_with_experts() {
  std::vector<spec::RunSpec> all{dropless_tiny(), glam_tiny(), dropped(dropless_tiny())};
  for (auto& run : all) run.model.moe.load_balance_weight = 1.0;
  return all;
}

TEST(MeshTraining, ExpertsOfBothKindsEqualOneRank) {
  for (const auto& mesh : expert_meshes()) {
    for (auto run : runs_with_experts()) {
      run.mesh = mesh.mesh;
      run.model.layers = 4;
      run.grad_accum = run.mesh.pp();
      run.global_batch = 2 * run.mesh.data_shards() * run.grad_accum;
      expect_one_ranks_training(with_room_for_all(run), run.model.name + " " + mesh.name);
    }
  }
}

// Ranks along tp divide nothing but the heads: 35 tokens in a microbatch, a hidden width of 41, and of 83 between
// experts.
TEST(MeshTraining, ExpertsOfOddSizesEqualOneRank) {
  const auto n = world().size();
  if (n == 1 || n > 4) GTEST_SKIP() << "needs two to four ranks";
  std::vector<MeshCase> meshes{{"tp", {.ici = {.tp = n}}}, {"dcn.tp", {.dcn = {.tp = n}}}};
  if (n == 4) meshes.push_back({"ep2 x tp2", {.ici = {.tp = 2, .ep = 2}}});
  if (n == 3) meshes.push_back({"ep", {.ici = {.ep = 3}}});
  for (const auto& mesh : meshes) {
    for (auto run : runs_with_experts()) {
      run.mesh = mesh.mesh;
      run.model.n_heads = 12;
      run.model.n_kv_heads = 1;
      run.model.d_ff = 83;
      run.model.moe.n_experts = 6;
      run.model.moe.d_ff = 41;
      run.seq_len = 7;
      run.global_batch = 5 * run.mesh.data_shards();
      expect_one_ranks_training(with_room_for_all(run), run.model.name + " " + mesh.name);
    }
  }
}

// Half of the rows of the worst case, over four ranks, are enough for the tokens of this seed.
spec::RunSpec run_with_half_of_the_rows() {
  auto run = runs_with_experts().front();
  run.model.moe.n_experts = 16;
  run.mesh.ici.ep = 4;
  run.expert_buffer_factor = 2.0;
  run.seed = 50;
  return run;
}

TEST(MeshTraining, ASmallerBufferOfExpertsEqualsOneRank) {
  if (world().size() != 4) GTEST_SKIP() << "needs four ranks";
  expect_one_ranks_training(run_with_half_of_the_rows(), "half of the rows");
}

// Logits that are NaN send all tokens to the same experts, which have no room for them. A diverged run does not end for
// this reason, and its record shows it.
TEST(MeshTraining, ADivergedRunOfExpertsGoesOn) {
  if (world().size() != 4) GTEST_SKIP() << "needs four ranks";
  auto run = run_with_half_of_the_rows();
  run.optimizer.learning_rate = std::numeric_limits<double>::infinity();
  TrainingRun training(run, first_weights(run), collectives_of(run));
  EXPECT_TRUE(std::isfinite(training.step().loss));
  const auto diverged = training.step();
  EXPECT_FALSE(std::isfinite(diverged.loss));
  EXPECT_GT(diverged.dropped_choices, 0);
}

TEST(MeshTraining, EveryPolicyHoldsWhereExpertsAreDivided) {
  if (world().size() != 2) GTEST_SKIP() << "needs two ranks";
  for (auto run : {dropless_tiny(), glam_tiny()}) {
    for (const auto& mesh : {spec::MeshSpec{.ici = {.ep = 2}}, spec::MeshSpec{.ici = {.tp = 2}}}) {
      run.mesh = mesh;
      run.remat = "none";
      TrainingRun kept(run, first_weights(run), collectives_of(run));
      const auto expected = kept.all_steps();
      for (const auto& policy : spec::remat_policy_names()) {
        if (policy == spec::kCustomRemat) continue;
        run.remat = policy;
        TrainingRun training(run, first_weights(run), collectives_of(run));
        const auto steps = training.all_steps();
        for (std::size_t i = 0; i < steps.size(); ++i) {
          EXPECT_EQ(steps[i].loss, expected[i].loss) << run.model.name << ' ' << policy << " step " << i;
          EXPECT_EQ(steps[i].grad_norm, expected[i].grad_norm) << run.model.name << ' ' << policy << " step " << i;
        }
      }
      run.remat = "full";
      expect_one_ranks_training(run, run.model.name + " full");
    }
  }
}

// A rank that drops no token and has no room for one reports it, and so does every other rank.
TEST(MeshTraining, AnOverflowOfADroplessBufferEndsTheRun) {
  if (world().size() != 4) GTEST_SKIP() << "needs four ranks";
  auto run = dropless_tiny();
  run.mesh.ici.ep = 4;
  run.expert_buffer_factor = 1.0;  // no more than the even share
  TrainingRun training(run, first_weights(run), collectives_of(run));
  EXPECT_THAT([&] { training.step(); },
              testing::ThrowsMessage<EngineError>(testing::HasSubstr("expert_buffer_factor")));
}

}  // namespace
}  // namespace perfbench::engine
