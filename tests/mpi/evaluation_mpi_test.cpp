// Every mesh gives the scores of one rank, with exactly the memory and traffic of the dry walk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/train/dry_walk.h"
#include "tests/engine/example_runs.h"
#include "tests/mpi/mesh_training.h"

namespace perfbench::engine {
namespace {

// The meshes of this number of ranks that share rows, weights, the vocabulary, layers and experts.
std::vector<spec::MeshSpec> evaluated_meshes(const spec::RunSpec& run) {
  const auto n = world().size();
  std::vector<spec::MeshSpec> all{{.ici = {.dp = n}}, {.ici = {.fsdp = n}}};
  if (n == 2 || n == 4) all.push_back({.ici = {.tp = n}});
  if (n == 2 || n == 4) all.push_back({.ici = {.pp = n}});
  if (n >= 4) all.push_back({.ici = {.fsdp = n / 2, .tp = 2}});
  if (n >= 4) all.push_back({.ici = {.fsdp = n / 4, .tp = 2, .pp = 2}});
  if (run.model.moe.n_experts > 0 && n <= 4) all.push_back({.ici = {.ep = n}});
  return all;
}

// Forward: f32 sums in another order through three layers.
constexpr double kSummedOtherwise = kOtherOrder * kThroughAdamw;

void expect_scores(const std::vector<RowScore>& got, const std::vector<RowScore>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_NEAR(got[i].log_likelihood, want[i].log_likelihood,
                kSummedOtherwise * (1.0 + std::abs(want[i].log_likelihood)))
        << what << " row " << i;
    EXPECT_EQ(got[i].targets, want[i].targets) << what << " row " << i;
    EXPECT_EQ(got[i].missed, want[i].missed) << what << " row " << i;
  }
}

void expect_one_ranks_scores(const spec::RunSpec& run, const std::string& what) {
  auto alone = run;
  alone.mesh = {};
  alone.pipeline_chunks = 1;
  TrainingRun single(alone);
  const auto want = single.all_steps();
  TrainingRun shared(run, init_rule(run), collectives_of(run));
  for (const auto& step : want) {
    shared.collectives().reset_traffic();
    const auto record = shared.step();
    EXPECT_NEAR(record.loss, step.loss, kSummedOtherwise * step.loss) << what;
    EXPECT_EQ(record.loss_tokens, step.loss_tokens) << what;
    EXPECT_EQ(record.padding_tokens, step.padding_tokens) << what;
    EXPECT_EQ(record.dropped_choices, step.dropped_choices) << what;
  }
  expect_scores(shared.trainer().evaluator()->rows(), single.trainer().evaluator()->rows(), what);
  const auto dry = dry_walk(shared.run(), world().rank());
  const auto& peaks = shared.ledger().peaks();
  EXPECT_EQ(peaks.total_bytes, dry.peak.total_bytes) << what;
  EXPECT_EQ(peaks.gradients_bytes, 0) << what;
  EXPECT_EQ(peaks.optimizer_bytes, 0) << what;
  EXPECT_EQ(shared.arena_bytes(), dry.arena_bytes) << what;
  const auto traffic = shared.collectives().traffic();
  ASSERT_EQ(traffic.size(), dry.traffic.size()) << what;
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    EXPECT_EQ(traffic[i].axis, dry.traffic[i].axis) << what;
    EXPECT_EQ(traffic[i].messages, dry.traffic[i].messages) << what << " " << traffic[i].axis;
    EXPECT_EQ(traffic[i].sent_bytes, dry.traffic[i].sent_bytes) << what << " " << traffic[i].axis;
  }
}

TEST(MeshEvaluation, EveryMeshScoresAsOneRank) {
  for (auto run : {gpt_tiny(), llama_tiny(), dropless_tiny()}) {
    run.task = spec::Task::eval;
    run.global_batch = 16;
    run.grad_accum = 2;
    run.loss_chunk_tokens = 21;
    run.steps = 2;
    for (const auto& mesh : evaluated_meshes(run)) {
      run.mesh = mesh;
      auto of_mesh = run;
      of_mesh.model.layers = std::max(run.model.layers, mesh.pp());
      const auto& ici = mesh.ici;
      expect_one_ranks_scores(of_mesh, run.model.name + " dp " + std::to_string(ici.dp) + " fsdp " +
                                           std::to_string(ici.fsdp) + " tp " + std::to_string(ici.tp) + " pp " +
                                           std::to_string(ici.pp) + " ep " + std::to_string(ici.ep));
    }
  }
}

TEST(MeshEvaluation, InterleavedChunksScoreAsOneRank) {
  if (world().size() != 2) GTEST_SKIP() << "needs two ranks";
  auto run = llama_tiny();
  run.task = spec::Task::eval;
  run.model.layers = 4;
  run.mesh.ici.pp = 2;
  run.pipeline_chunks = 2;
  run.grad_accum = 4;
  expect_one_ranks_scores(run, "interleaved");
}

// Gradients and gathered weights exist beside it.
TEST(MeshEvaluation, AtTheEndOfTrainingTakesThePlannedMemory) {
  for (auto run : {gpt_tiny(), llama_tiny()}) {
    run.evaluation.path = "made up";
    run.global_batch = 16;
    for (const auto& mesh : evaluated_meshes(run)) {
      run.mesh = mesh;
      auto of_mesh = run;
      of_mesh.model.layers = std::max(run.model.layers, mesh.pp());
      TrainingRun training(of_mesh, init_rule(of_mesh), collectives_of(of_mesh));
      training.step();
      training.trainer().evaluate_at_end();
      EXPECT_EQ(training.trainer().evaluator()->result().rows, 2 * 16 - 3);
      const auto dry = dry_walk(training.run(), world().rank());
      EXPECT_EQ(training.ledger().peaks().total_bytes, dry.peak.total_bytes);
      EXPECT_EQ(training.arena_bytes(), dry.arena_bytes);
    }
  }
}

// The b of adapters does not begin at 0 here. A rank's part of a weight equals that of one rank, except that a library
// may add the products of up to 5 ranks of an adapter in another order: with the factor and the addition to W there are
// at most 8 roundings on either side, u = 2^-24 of magnitudes below 8 (weights and a have a deviation of 0.2, b of 0.1,
// the factor is at most 1.5).
constexpr double kMergedOtherwise = 2 * 8 * 8 * 0x1p-24;

void expect_one_ranks_weights(TrainingRun& shared, TrainingRun& single, const std::string& what) {
  auto& store = shared.trainer().parameters();
  for (const auto& unit : store.units()) {
    const auto shard = to_host(unit.weight);
    const std::int64_t shard_first = store.first_element(unit.layout);
    for (const auto& p : unit.layout.parameters) {
      const auto whole = single.weight(p.spec.name);
      double farthest = 0;
      for (std::int64_t own = 0; own < p.slice.elements(); ++own) {
        const std::int64_t at = p.offset + own - shard_first;
        if (at < 0 || at >= unit.layout.shard_elements) continue;
        const std::int64_t element = p.slice.first + own / p.slice.run * p.slice.stride + own % p.slice.run;
        const double distance = shard[static_cast<std::size_t>(at)] - whole[static_cast<std::size_t>(element)];
        farthest = std::max(farthest, std::abs(distance));
      }
      EXPECT_LE(farthest, kMergedOtherwise) << what << " " << p.spec.name;
    }
  }
}

TEST(MeshEvaluation, MergedAdaptersAreOneRanks) {
  auto few_heads = lora_tiny();  // key and value heads that every rank along tp has whole
  few_heads.model.name = "few heads";
  few_heads.model.n_kv_heads = 1;
  for (auto run : {lora_tiny(), lora_mlp_tiny(), few_heads}) {
    run.evaluation.path = "made up";
    run.lora.merge = true;
    run.global_batch = 16;
    run.grad_accum = 2;
    for (const auto& mesh : evaluated_meshes(run)) {
      run.mesh = mesh;
      auto of_mesh = run;
      of_mesh.model.layers = std::max(run.model.layers, mesh.pp());
      const std::string what = run.model.name + " fsdp " + std::to_string(mesh.fsdp()) + " tp " +
                               std::to_string(mesh.tp()) + " pp " + std::to_string(mesh.pp());
      TrainingRun single(on_one_rank(of_mesh));
      TrainingRun shared(of_mesh, first_weights(of_mesh), collectives_of(of_mesh));
      for (auto* const training : {&single, &shared}) training->trainer().evaluate_at_end();
      expect_one_ranks_weights(shared, single, what);
      expect_scores(shared.trainer().evaluator()->rows(), single.trainer().evaluator()->rows(), what);
      EXPECT_GT(single.trainer().evaluator()->rows().size(), 0U);
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
