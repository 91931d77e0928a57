// Precision fp8 on meshes: every rank of a layer has the scales of one rank, and trains like it.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "engine/core/float8.h"
#include "tests/engine/example_runs.h"
#include "tests/engine/fp8_ops.h"
#include "tests/mpi/mesh_training.h"

namespace perfbench::engine {
namespace {

std::vector<MeshCase> meshes() {
  const auto n = world().size();
  std::vector<MeshCase> all{{"fsdp", {.ici = {.fsdp = n}}}, {"dp", {.ici = {.dp = n}}}};
  if (n <= 4) all.push_back({"tp", {.ici = {.tp = n}}});
  if (n <= 4) all.push_back({"pp", {.ici = {.pp = n}}});
  if (n >= 4) all.push_back({"pp2 x fsdp", {.ici = {.fsdp = n / 2, .pp = 2}}});
  if (n >= 4) all.push_back({"dcn.dp x ici.tp2", {.ici = {.tp = 2}, .dcn = {.dp = n / 2}}});
  if (n == 8) all.push_back({"pp2 x fsdp2 x tp2", {.ici = {.fsdp = 2, .tp = 2, .pp = 2}}});
  return all;
}

spec::RunSpec on_mesh(spec::RunSpec run, const MeshCase& mesh) {
  run.precision = spec::Precision::fp8;
  run.mesh = mesh.mesh;
  // Every stage has the same number.
  run.model.layers = std::max<std::int64_t>(run.mesh.pp(), 2);
  return run;
}

// After the first step: of inputs and weights alternately, then of gradients; the same number for each layer.
struct Scales {
  std::vector<float> updated;
  std::vector<float> amaxes;  // what the rank itself has met
  std::size_t forward = 0;    // how many are not of gradients
};
Scales scales_of_a_step(LoggedFp8Run& training) {
  const auto& log = training.step();
  Scales out;
  for (const auto& scales : log.updated_scales) out.updated.insert(out.updated.end(), scales.begin(), scales.end());
  out.forward = log.updated_scales.front().size();
  for (const auto& [place, amax] : log.amaxes) out.amaxes.push_back(static_cast<float>(amax));
  return out;
}

// The index, on one rank, of a value of a stage.
std::size_t of_all(std::size_t i, const Scales& stage, const ModelChunk& chunk, std::int64_t layers) {
  const bool forward = i < stage.forward;
  const std::size_t of_stage = forward ? stage.forward : stage.updated.size() - stage.forward;
  const std::size_t of_layer = of_stage / static_cast<std::size_t>(chunk.layers);
  const std::size_t before = static_cast<std::size_t>(chunk.first_layer) * of_layer;
  if (forward) return before + i;
  return stage.forward / static_cast<std::size_t>(chunk.layers) * static_cast<std::size_t>(layers) + before + i -
         stage.forward;
}

// The largest value that any rank has met, exactly.
TEST(MeshFp8, ScalesComeFromTheLargestOnAllRanks) {
  for (const auto& mesh : meshes()) {
    if (mesh.mesh.pp() > 1) continue;  // ranks have different layers
    for (const auto& family : {gpt_tiny(), llama_tiny()}) {
      LoggedFp8Run training(on_mesh(family, mesh), collectives_of(on_mesh(family, mesh)));
      const auto scales = scales_of_a_step(training);
      const std::size_t count = scales.updated.size();
      ASSERT_EQ(scales.amaxes.size(), count);
      std::vector<float> all(count * static_cast<std::size_t>(world().size()));
      world().all_gather(std::as_writable_bytes(std::span(all)), std::as_bytes(std::span(scales.amaxes)));
      for (std::size_t i = 0; i < count; ++i) {
        float most = 0;
        for (std::size_t at = i; at < all.size(); at += count) most = std::max(most, all[at]);
        const auto want = float8_scale(i < scales.forward ? kE4m3 : kE5m2, most);
        EXPECT_EQ(scales.updated[i], want) << family.model.name << ' ' << mesh.name << ' ' << i;
      }
    }
  }
}

// They also equal those of one rank, because all parts of a tensor belong to it. For weights this is exact. Inputs and
// gradients equal those of one rank except for sums in another order, which move a bf16 number by an ulp now and then.
// Once in 16 times that crosses the middle between two e4m3 numbers and moves an operand by 2^-3, which as a random
// walk changes results by 2^-3 / sqrt(16). If ranks along tp round parts of every sum, a single extreme number proves
// nothing, so these are left out.
TEST(MeshFp8, ScalesAreThoseOfOneRank) {
  constexpr double kTurnedOver = 0x1p-5;
  for (const auto& mesh : meshes()) {
    for (const auto& family : {gpt_tiny(), llama_tiny()}) {
      const auto run = on_mesh(family, mesh);
      LoggedFp8Run alone(on_one_rank(run));
      LoggedFp8Run training(run, collectives_of(run));
      const auto expected = scales_of_a_step(alone);
      const auto scales = scales_of_a_step(training);
      const auto& chunk = training.trainer().parameters().chunks().front();
      for (std::size_t i = 0; i < scales.updated.size(); ++i) {
        const float want = expected.updated.at(of_all(i, scales, chunk, run.model.layers));
        const bool weight = i < scales.forward && i % 2 == 1;
        if (!weight && run.mesh.tp() > 1) continue;
        EXPECT_NEAR(scales.updated[i], want, weight ? 0 : kTurnedOver * static_cast<double>(want))
            << run.model.name << ' ' << mesh.name << ' ' << i;
      }
    }
  }
}

TEST(MeshFp8, EveryMeshTrainsAsOneRankAndAsItsPlan) {
  for (const auto& mesh : meshes()) {
    for (auto run : {on_mesh(gpt_tiny(), mesh), on_mesh(llama_tiny(), mesh), on_mesh(lora_tiny(), mesh)}) {
      run.grad_accum = run.mesh.pp();
      run.global_batch = std::max<std::int64_t>(8, run.grad_accum * run.mesh.data_shards());
      expect_one_ranks_training(run, run.model.name + " fp8 " + mesh.name);
    }
  }
}

}  // namespace
}  // namespace perfbench::engine
