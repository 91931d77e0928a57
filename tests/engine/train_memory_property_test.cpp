// For a thousand random runs, the dry walk and a closed form (memory_closed_form.h), which uses no code of the engine,
// count the same peak of memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/train/dry_walk.h"
#include "tests/engine/memory_closed_form.h"
#include "tests/engine/random_runs.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::engine {
namespace {

constexpr std::uint64_t kRuns = 1000;
constexpr int kMostShown = 5;
// The closed form ignores that each tensor is rounded up to 256 bytes, and a few scalars: for some tens of megabytes in
// some hundred tensors, less than a part in a thousand. If tp does not divide a dim, the walk may report a rank with
// one row or column less: with 256 or more along d_ff, on 4 ranks, at worst 1 in 64 of the hidden values and their
// weights. These are a small part of the peak if d_ff is small, which leaves less than another part in a thousand.
constexpr double kTolerance = 0.002;

// Decoders of all widths that take a few megabytes: queries wider and narrower than the model, grouped keys, fewer of
// those than ranks along tp, gated or not, tied or not. The three sizes need not have a common factor.
spec::ModelSpec random_decoder(Draws& draws, std::int64_t tp, std::int64_t stages) {
  spec::ModelSpec model;
  model.name = "random";
  model.layers = stages + draws.number(0, 6);
  model.d_model = 16 * draws.number(16, 64);
  model.n_heads = tp * draws.number(1, 6);
  do {
    model.n_kv_heads = draws.number(1, model.n_heads);
  } while (model.n_heads % model.n_kv_heads != 0 || (model.n_kv_heads % tp != 0 && tp % model.n_kv_heads != 0));
  model.head_dim = 2 * draws.number(16, 64);
  model.d_ff = draws.number(256, 4096);
  model.vocab_size = draws.number(500, 20'000);
  model.norm = draws.any<spec::NormKind>();
  model.activation = draws.any<spec::Activation>();
  model.bias = draws.any<spec::BiasKind>();
  model.tied_embedding = draws.once_in(2);
  model.position.kind = draws.one_of({spec::PositionKind::rope, spec::PositionKind::learned});
  return model;
}

// Axes of one level or the other.
spec::MeshSpec random_ranks(Draws& draws) {
  using spec::MeshAxes;
  spec::MeshSpec mesh;
  const auto spread = [&](std::int64_t MeshAxes::*axis, std::int64_t ranks) {
    auto& level = draws.once_in(3) ? mesh.dcn : mesh.ici;
    level.*axis = ranks;
  };
  spread(&MeshAxes::pp, draws.one_of<std::int64_t>({1, 1, 2, 3, 4}));
  spread(&MeshAxes::tp, draws.one_of<std::int64_t>({1, 1, 2, 4}));
  spread(&MeshAxes::fsdp, draws.one_of<std::int64_t>({1, 2, 4, 8}));
  spread(&MeshAxes::dp, draws.number(1, 2));
  return mesh;
}

spec::RunSpec random_training(std::uint64_t seed) {
  Draws draws(seed);
  spec::RunSpec run;
  run.mesh = random_ranks(draws);
  run.model = random_decoder(draws, run.mesh.tp(), run.mesh.pp());
  run.seq_len = draws.number(64, 1024);
  run.model.max_seq_len = run.seq_len + draws.number(0, 100);
  run.grad_accum = draws.number(1, 6);
  run.global_batch = run.mesh.data_shards() * run.grad_accum * draws.number(1, 3);
  run.precision = draws.one_of({spec::Precision::fp32, spec::Precision::bf16});
  if (run.precision == spec::Precision::bf16) {
    run.bf16_weights = draws.any<spec::Bf16Weights>();
    run.logits = draws.any<spec::LogitsType>();
  }
  run.optimizer.moments = draws.any<spec::StateType>();
  run.optimizer.gradients = draws.any<spec::StateType>();
  run.attention = draws.any<spec::AttentionKind>();
  const auto policies = spec::remat_policy_names();
  run.remat = policies[static_cast<std::size_t>(draws.number(0, static_cast<std::int64_t>(policies.size()) - 1))];
  if (run.remat == spec::kCustomRemat) run.remat_custom = random_places(draws);
  run.fused_qkv = draws.once_in(2);
  run.fused_mlp = draws.once_in(2);
  run.scan = draws.once_in(2);  // has no effect on a CPU
  run.loss_chunk_tokens = draws.once_in(2) ? 512 : draws.number(16, 4096);
  run.fsdp_prefetch = draws.number(0, 1);
  return run;
}

struct PeakOfStage {
  std::int64_t stage = 0;
  std::int64_t bytes = 0;
};

std::vector<PeakOfStage> peaks_of(const spec::DryReport& report) {
  if (report.stages.empty()) return {{0, report.peak.total_bytes}};
  std::vector<PeakOfStage> out;
  for (const auto& stage : report.stages) out.push_back({stage.stage, stage.peak.total_bytes});
  return out;
}

TEST(MemoryProperty, TheDryWalksPeakEqualsTheClosedForm) {
  std::map<std::string, int> seen;
  int failed = 0;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto run = random_training(seed);
    ASSERT_FALSE(spec::unsupported(run)) << spec::canonical_json(run);
    spec::validate(run);
    const auto report = dry_walk_of_worst(run);
    for (const auto& [stage, bytes] : peaks_of(report)) {
      const auto expected = MemoryClosedForm(run, stage).peak();
      const double off = static_cast<double>(bytes) / static_cast<double>(expected) - 1;
      EXPECT_NEAR(off, 0, kTolerance) << "seed " << seed << ", stage " << stage << ": the walk has " << bytes
                                      << " bytes, the closed form " << expected << "; the peak is in "
                                      << report.peak_at.phase << " " << report.peak_at.range << ", with "
                                      << report.peak_at.tensor << "\n"
                                      << spec::canonical_json(run);
    }
    if (HasFailure() && ++failed == kMostShown) return;
    for (const auto& what :
         {run.remat, std::string(spec::enum_name(run.attention)), std::string(spec::enum_name(run.precision)),
          "pp" + std::to_string(run.mesh.pp()), "tp" + std::to_string(run.mesh.tp()),
          "fsdp" + std::to_string(run.mesh.fsdp()), "peak in " + report.peak_at.phase,
          "gradients in " + std::string(spec::enum_name(run.optimizer.gradients))}) {
      ++seen[what];
    }
  }
  // Every kind must occur many times, otherwise the runs prove little.
  EXPECT_EQ(seen.size(), 12U + 2 + 2 + 4 + 3 + 4 + 3 + 2);
  for (const auto& [what, times] : seen) EXPECT_GE(times, what == "peak in exposed_comm" ? 5 : 50) << what;
}

}  // namespace
}  // namespace perfbench::engine
